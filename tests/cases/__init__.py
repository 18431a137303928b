"""Small inputs after public bug reports: one module per kind of fault, one test per case, named after its id.

Each test embeds its input and the right values. Around each case stand tests of the whole kind of fault.
"""
