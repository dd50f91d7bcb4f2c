package chat

import (
	"context"
	"errors"
)

// Desk is a tool's view of the thread: its calls and files. All of it comes from the
// log, so no tool needs a memory of threads.
type Desk struct {
	Thread ThreadID
	// Key is the same for every attempt at this call and for no other call: an
	// idempotency key for an API.
	Key string
	// Past are the calls of this thread that the model still sees and that are
	// over, the oldest first.
	Past []ToolCall
	// Files are the thread's artifacts, the oldest first. Each has a name of its
	// own in the thread.
	Files []File
	// Open gives the content of one of Files. It is nil where there is none.
	Open func(ctx context.Context, f File) ([]byte, error)
	// Eyes are the messages by which the platform may be searched for the requester, the
	// newest first.
	Eyes []MessageRef
	// Ask asks the requester of the call, in the thread, and waits for the answer. An
	// error means that nobody was asked, in words for the tool. Nil: nobody can be
	// asked.
	Ask func(ctx context.Context, q Question) (Answer, error)
	// Hold keeps the handle of a call that goes on at its server. The tool then returns, and
	// its result is void: the call is run again with Resumes. Nil: the tool waits itself.
	Hold func(h Handle)
	// Resumes is the kept handle. Nil: the call begins.
	Resumes *Resumed
}

// Hit is a message that a search of the platform found.
type Hit struct{ Author, Place, Text, Link string }

// ErrBlind says that no message lets the platform be searched any more: they are too old,
// or came before a restart.
var ErrBlind = errors.New("no message to search by")
