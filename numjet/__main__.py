"""`python -m numjet`: the tools of the command line."""
import sys

from numjet.tools.command_line import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
