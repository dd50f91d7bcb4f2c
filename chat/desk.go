package chat

import "context"

// Desk is what lies before a tool when it is called: the thread, what was done
// in it, and the files that it holds. All of it comes of the thread's log, so
// that a tool need not remember anything of a thread.
type Desk struct {
	Thread ThreadID
	// Key is the same for every attempt at this call and for no other call:
	// what an API takes as idempotency key.
	Key string
	// Past are the calls of this thread that the model still sees and that are
	// over, the oldest first.
	Past []ToolCall
	// Files are the thread's artifacts, the oldest first. Each has a name of its
	// own in the thread.
	Files []File
	// Open gives the content of one of Files. It is nil where there is none.
	Open func(ctx context.Context, f File) ([]byte, error)
	// Ask asks the person for whom the call is made, in the thread, and waits for
	// the answer. An error means that nobody was asked, in words for the tool. It is
	// nil where nobody can be asked.
	Ask func(ctx context.Context, q Question) (Answer, error)
}
