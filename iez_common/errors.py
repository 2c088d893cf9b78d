"""Errors: everything iez reports to a user, as one tree.

IezError                exit code 70
├── UsageError           2   the command line does not make sense
├── InputError          66   a file that was asked for cannot be read
├── OutputError         73   a file cannot be written
├── LayoutError         65   a layout that Lustre would refuse
├── SourceError         65   a CSV or JSON file that cannot become a plan
├── PlanError           65   a plan file that cannot be used
│   └── UnknownOstError 65   a plan that names an OST which does not exist
├── TraceError          65   a trace file that cannot be used
├── AllocationError     65   requests that the OSTs cannot take, or numbers that make no sense
├── ForecastError       65   a series or a method of forecasting that makes no sense
├── DatabaseError       70   the interaction database; any trouble that has no class below
│   ├── DatabaseAddressError     78   an address that makes no sense, a password file for all
│   ├── DatabaseUnavailableError 69   a server that is away or refuses; a file locked for too long
│   ├── DatabaseDamagedError     65   a file whose contents are broken
│   ├── DatabaseForeignError     65   something else's, or of another version of iez
│   ├── DatabaseWriteError       73   no space, no permission
│   └── ExportError              65   a file to import that makes no sense
├── LoopbackError       69   a loopback file system that cannot be had, or is not there
├── MockStateError      78   a mock state file that makes no sense
└── ConfigError         78   a setting that makes no sense

The codes are those of sysexits.h. Only iez_client/cli prints errors.
"""


class IezError(Exception):
    """Trouble that a user can understand; `hint` says what to try."""

    exit_code = 70

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(IezError):
    exit_code = 2


class InputError(IezError):
    exit_code = 66


class OutputError(IezError):
    exit_code = 73


class LayoutError(IezError):
    exit_code = 65


class SourceError(IezError):
    exit_code = 65


class PlanError(IezError):
    exit_code = 65


class UnknownOstError(PlanError):
    pass


class TraceError(IezError):
    exit_code = 65


class AllocationError(IezError):
    exit_code = 65


class ForecastError(IezError):
    exit_code = 65


class DatabaseError(IezError):
    pass


class DatabaseAddressError(DatabaseError):
    exit_code = 78


class DatabaseUnavailableError(DatabaseError):
    exit_code = 69


class DatabaseDamagedError(DatabaseError):
    exit_code = 65


class DatabaseForeignError(DatabaseError):
    exit_code = 65


class DatabaseWriteError(DatabaseError):
    exit_code = 73


class ExportError(DatabaseError):
    exit_code = 65


class LoopbackError(IezError):
    exit_code = 69


class MockStateError(IezError):
    exit_code = 78


class ConfigError(IezError):
    exit_code = 78


def reason(error: OSError) -> str:
    """The system's words for an error, without the path that our message names already."""
    return (error.strerror or str(error)).lower()
