"""The version of this code: settings name it, so it imports nothing."""

VERSION = "0.1.0"
