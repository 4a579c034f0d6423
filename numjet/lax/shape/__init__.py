"""Operations that make, rearrange and join arrays: iota, broadcast, reshape, transpose, concatenate, pad.
Imports the elementwise family.
Add an operation as a record in the file of its kind.
"""
