// hiredis as a protocol codec only: the sockets are the event loop's.
#pragma once
#include <hiredis/hiredis.h>
