"""The administrator's limits (`policy`: values, `limits`: checks), options of users, and back-ends.

`backends` keeps those of this process, which ask schedulers no more often than the limits allow.
"""
