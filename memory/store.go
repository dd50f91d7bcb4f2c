// Package memory is what nod remembers: the entries of a thread's log, the
// contract of a store that keeps logs, and the rule by which a long log is
// trimmed to what the model can use.
//
// A thread is a log. People, clocks and platforms put entries into its inbox;
// one run at a time claims the thread, moves the inbox to the log, and appends
// what it did. Everything else (what to do next, what the model sees, what
// people see) is computed from the log, by others.
//
// There are two stores, memory/sqlite and memory/redis, and one contract suite
// (memory/storetest) that both pass.
package memory

import (
	"context"
	"errors"
	"iter"
	"time"

	"nod/chat"
)

// ErrFenced is returned when a run no longer holds its thread: its lease ran
// out and another run may hold it, or the store was closed. Nothing was
// written.
var ErrFenced = errors.New("the thread is no longer held by this run")

// Store keeps the logs of threads. All methods are safe for concurrent use,
// except that one Run is used by one goroutine at a time. An error means that
// nothing was changed, or that it is not known whether it was (the connection
// broke); calling again with the same event ids is always safe.
type Store interface {
	// Put adds an entry to the thread's inbox and wakes the thread, atomically
	// and durably: once it returns nil, the platform may be told that the
	// event was received. When any of the event ids is known already nothing
	// changes and fresh is false. Adapters call it.
	Put(ctx context.Context, thread chat.ThreadID, body Body, eventIDs ...string) (fresh bool, err error)

	// PutRef is Put for an entry of which only a message is known, such as a
	// reaction. While no thread is known for the message the entry is kept for
	// RefWait, and enters the inbox with the commit that makes the message
	// known.
	PutRef(ctx context.Context, ref chat.MessageRef, body Body, eventIDs ...string) (fresh bool, err error)

	// Next claims a woken thread of one of the platforms: it takes the lease
	// under a new fencing token, moves the inbox to the log (a deadline that
	// has passed comes as a Due), and returns the log from its base on. It
	// blocks until there is one or ctx is done. The run loop calls it.
	Next(ctx context.Context, platforms ...string) (*Run, error)

	// Commit appends the bodies to the log of the claimed thread, then moves
	// the inbox to the log. It updates run.Log, and returns what arrived. With
	// no bodies it only fetches what arrived. What the entries say about refs,
	// approvals, audit and base ([EffectsOf]) changes in the same transaction.
	Commit(ctx context.Context, run *Run, bodies ...Body) (arrived []Entry, err error)

	// Finish releases the thread, to be woken at wakeAt (never, when zero) or
	// by the next entry. While the inbox is not empty it releases nothing and
	// reports more: Commit again.
	Finish(ctx context.Context, run *Run, wakeAt time.Time) (more bool, err error)

	// Handoff releases the thread and wakes it, so that another replica goes
	// on with it at once.
	Handoff(ctx context.Context, run *Run) error

	// Ping says whether the store answers.
	Ping(ctx context.Context) error

	// Close releases what is held by this process and waits for its goroutines.
	Close() error
}

// Run is a claimed thread.
type Run struct {
	Thread chat.ThreadID
	Token  uint64  // fencing token, new for every claim
	Log    []Entry // from the base on, in order; Commit appends to it
	// Claimed is the Seq of the first entry that entered the log by this
	// claim: of what Next moved there from the inbox, or else of the first
	// entry to come. What is older may have been acted on by a run that died.
	Claimed uint64
	Waited  time.Duration // from the wake to the claim

	// Mail receives when something arrived in the inbox while the run is held;
	// it may receive without cause. Lost is closed when the lease is lost.
	Mail <-chan struct{}
	Lost <-chan struct{}

	// Held is for the store that made the run.
	Held any
}

// Limits of every store.
const (
	EventTTL = 72 * time.Hour   // how long an event id is known
	RefWait  = 10 * time.Minute // how long an entry waits for its message to become known
	BlobCap  = 20 << 20         // bytes of one blob
)

// Reader reads a log without claiming the thread: for `steps`, the Steps
// button, `memory`.
type Reader interface {
	// Read returns the whole log that is not erased, also what is before the
	// base and what still waits in the inbox (with Seq 0).
	Read(ctx context.Context, thread chat.ThreadID) ([]Entry, error)
}

// Catchup is what an adapter needs to find out what it missed while it was
// not connected.
type Catchup interface {
	// Pending lists the approval messages of a platform that are not decided.
	Pending(ctx context.Context, platform string) iter.Seq2[PendingApproval, error]
	// Watermarks lists the platform's threads touched since then, each with
	// the latest message that was put for it.
	Watermarks(ctx context.Context, platform string, since time.Time) iter.Seq2[Watermark, error]
}

// PendingApproval is an approval message without a decision.
type PendingApproval struct {
	Thread chat.ThreadID
	Call   string
	Ref    chat.MessageRef
}

// Watermark says how far a thread was heard.
type Watermark = chat.Watermark

// Auditor reads the audit log, which no command erases.
type Auditor interface {
	// Audit lists the lines in the order in which they were written; of one
	// thread, unless it is zero.
	Audit(ctx context.Context, thread chat.ThreadID) iter.Seq2[AuditLine, error]
}

// Blobs keeps the content of files. A blob expires with its thread, and is
// erased when the thread is forgotten.
type Blobs interface {
	// PutBlob keeps data under a name that depends on thread and content only.
	// More than BlobCap bytes is an error.
	PutBlob(ctx context.Context, thread chat.ThreadID, data []byte) (name string, err error)
	// Blob returns the content, or ErrNoBlob.
	Blob(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error)
}

// ErrNoBlob is returned for a blob that was never kept, or is gone.
var ErrNoBlob = errors.New("no such blob")

// Counters count what limits are about.
type Counters interface {
	// Count adds n to the counter (0 only reads it) and returns its value. A
	// counter is gone ttl after its first use.
	Count(ctx context.Context, name string, n int64, ttl time.Duration) (int64, error)
}

// Full is everything that nod needs of a store; both packages' Open return it.
type Full interface {
	Store
	Reader
	Catchup
	Auditor
	Blobs
	Counters
}
