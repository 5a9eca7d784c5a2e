from django.db import models

from core.fields import id_field


class HolidayChange(models.Model):
    """A public holiday that an operator added to a country's calendar, or took away from it.

    The calendar's other holidays are those of the `holidays` package.
    """

    id = id_field()
    country = models.CharField(max_length=2)
    date = models.DateField()
    # False: the date is none, whatever the package says.
    is_holiday = models.BooleanField()
    reason = models.CharField(max_length=500)
    created_at = models.DateTimeField()

    class Meta:
        permissions = [("change_holidays", "Can add and remove public holidays")]
        constraints = [
            models.UniqueConstraint(
                fields=["country", "date"], name="a_date_is_changed_once_per_country"
            ),
            models.CheckConstraint(
                condition=models.Q(country__regex="^[A-Z]{2}$"),
                name="a_calendars_country_is_two_capital_letters",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.country} {self.date}: {'a' if self.is_holiday else 'no'} holiday"
