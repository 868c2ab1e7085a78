"""The administrator's limits (`policy`: their values, `limits`: their checks), and options of users."""
