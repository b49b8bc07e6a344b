from tests.workflows.conftest import stack

__all__ = ["stack"]
