import EventLoop

StandardDescriptors.open()
ProcessEnd.now(Program.run(Array(CommandLine.arguments.dropFirst())))
