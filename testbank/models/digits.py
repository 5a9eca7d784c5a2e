"""The form of a card number, which no column of the book may hold."""

# The shortest card number has 13 digits; nothing the book keeps has that many in a row.
DIGITS_OF_A_CARD = "[0-9]{13}"
