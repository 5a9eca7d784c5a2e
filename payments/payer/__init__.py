"""The payer's way through 3-D Secure: links, pages, hand-offs to the bank, and the return."""
