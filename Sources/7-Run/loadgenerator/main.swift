import CLinux

exit(Program.run(Array(CommandLine.arguments.dropFirst())))
