// Package memory is what nod remembers: the entries of a thread's log, the
// contract of a store that keeps logs, and the rule by which a long log is
// trimmed to what the model can use.
//
// A thread is a log. People, clocks, platforms and work that took long put
// entries into its inbox; a run claims the thread, sees the inbox as the end of
// the log, and appends what it did. Everything else (what to do next, what the model sees, what
// people see) is computed from the log, by others.
//
// There are two stores, memory/sqlite and memory/redis, and one contract suite
// (memory/storetest) that both pass.
package memory

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"nod/chat"
)

// ErrFenced is returned when a thread's log is not what the run thinks it is:
// its lease ran out and another run went on, the store came back older than the
// run remembers, or it was closed. Nothing was written.
var ErrFenced = errors.New("the thread went on without this run")

// FormatError is returned by Open for a store of another format than this build
// reads. Nothing was changed.
type FormatError struct{ Have, Reads int }

// CheckFormat refuses a store of another format; 0 is that of an empty one.
func CheckFormat(have, reads int) error {
	if have == 0 || have == reads {
		return nil
	}
	return FormatError{have, reads}
}

// Error says which format was found, which one this build reads, and what to do.
func (e FormatError) Error() string {
	said := fmt.Sprintf("store: format %d; this build reads %d", e.Have, e.Reads)
	if e.Have < e.Reads {
		said += ": a build before 0.1.0 wrote it, and no release reads that; keep it aside and name a new store in `store`"
	}
	return said
}

// Store keeps the logs of threads. All methods are safe for concurrent use,
// except that one Run is used by one goroutine at a time. An error means that
// nothing was changed, or that it is not known whether it was (the connection
// broke); calling again with the same event ids is always safe.
//
// The truth is a comparison: a commit is taken when the log still is what the
// run has seen of it, and refused otherwise. A lease only keeps two processes
// from doing the same work at the same time. Losing one costs money, never
// truth.
type Store interface {
	// Put adds an entry to the thread's inbox and wakes the thread, atomically
	// and durably: once it returns nil, the platform may be told that the
	// event was received. When any of the event ids is known already in the
	// thread's channel nothing changes and fresh is false. Adapters call it,
	// and whoever has the outcome of work to tell: it needs no claim, and may
	// be repeated for as long as it takes.
	Put(ctx context.Context, thread chat.ThreadID, body Body, eventIDs ...string) (fresh bool, err error)

	// PutRef is Put for an entry of which only a message is known, such as a
	// reaction. While no thread is known for the message the entry is kept for
	// RefWait, and enters the inbox with the commit that makes the message
	// known.
	PutRef(ctx context.Context, ref chat.MessageRef, body Body, eventIDs ...string) (fresh bool, err error)

	// Next claims a woken thread of one of the platforms: it takes the lease
	// under a token that was never used before, and returns the log from its
	// base on, with the inbox at its end (a deadline that has passed comes as a
	// Due). It blocks until there is one or ctx is done. An entry that can't be
	// read is a [Broken] or an [Unknown] in the log, never an error. The run
	// loop calls it.
	Next(ctx context.Context, platforms ...string) (*Run, error)

	// Commit appends the bodies to the log of the claimed thread, then moves
	// the inbox to the log. It updates run.Log, and returns what arrived. With
	// no bodies it only fetches what arrived. What the entries say about refs,
	// approvals, audit and base ([EffectsOf]) changes in the same transaction.
	//
	// ErrFenced is final. After any other error the run is still held, and the
	// same commit may be tried again, for hours if need be: it is done once.
	// A commit survives a power cut as far as the store can see to that.
	Commit(ctx context.Context, run *Run, bodies ...Body) (arrived []Entry, err error)

	// Finish is a Commit that also releases the thread, to be woken at wakeAt
	// (never, when zero) or by the next entry. Where something arrived with it,
	// it releases nothing and reports more. Errors are as for Commit.
	Finish(ctx context.Context, run *Run, wakeAt time.Time, bodies ...Body) (more bool, err error)

	// Handoff releases the thread and wakes it, so that another replica goes
	// on with it at once.
	Handoff(ctx context.Context, run *Run) error

	// Self names this process among those that share the store: the same for
	// its whole life, and never used by another one.
	Self() string

	// Silent says for how long nothing was heard of a process, by the store's
	// clock and as far as the thread's part of the store knows; [Forever] for
	// one that can't come back. It is how a run finds out whether a call that
	// another process began may still end.
	Silent(ctx context.Context, thread chat.ThreadID, process string) (time.Duration, error)

	// Ping says whether the store answers and takes writes; the error says in
	// what it fails. It leaves nothing behind.
	Ping(ctx context.Context) error

	// Close releases what is held by this process and waits for its goroutines.
	Close() error
}

// Forever is for how long nothing was heard of a process that is gone for good.
const Forever = time.Duration(1<<63 - 1)

// Run is a claimed thread.
type Run struct {
	Thread chat.ThreadID
	// Token is a random word that no other claim ever has, not even one of a
	// server that lost what was written last. Names of calls that are made under
	// the claim hold it, and so no name is used twice.
	Token string
	Log   []Entry // from the base on, in order; Commit appends to it
	// Claimed is the Seq of the first entry that came by this claim: of what
	// lay in the inbox, or else of the first entry to come. What is older may
	// have been acted on by a run that died.
	Claimed uint64
	Now     time.Time     // the store's clock at the claim
	Waited  time.Duration // from the wake to the claim

	// Bell rings when something arrived in the inbox while the run is held, and
	// when the lease is lost.
	Bell *Bell

	// Doubt says whether another process may hold the thread by now, since
	// nothing was heard from the store for as long as a lease is; nil: never. It
	// is asked right before something is sent that must not be sent twice.
	Doubt func() bool

	// Kept is what the last run of the thread left here when it let the thread go, if
	// that was in this process and Log goes on right where that run saw its end; nil
	// otherwise. Whoever finishes a run may leave here what was made of Log, which is
	// then kept for as long as the store remembers the log, and by nobody else.
	Kept any

	// Held is for the store that made the run.
	Held any
}

// Referrer makes messages known that stand in another channel than their thread.
// Both stores are one.
type Referrer interface {
	// Refer makes a message of another channel name a thread, so that PutRef finds
	// it, for [ReferTTL]; what was put for it already enters the thread's inbox. It
	// is called before the commit that tells of the message: an index that a store
	// keeps by channel can't change in the transaction of a thread of another one.
	// So a message may be known of which the log never tells, and none is told of
	// that is not known. Repeating it is harmless.
	Refer(ctx context.Context, ref chat.MessageRef, thread chat.ThreadID) error
}

// Limits of every store.
const (
	EventTTL = 72 * time.Hour      // how long an event id is known
	ReferTTL = 90 * 24 * time.Hour // how long a message names a thread of another channel
	RefWait  = 10 * time.Minute    // how long an entry waits for its message to become known
	BlobCap  = 20 << 20            // bytes of one blob
)

// Reader reads a log without claiming the thread: for `steps`, the Steps
// button, `memory`.
type Reader interface {
	// Read returns the whole log that is not erased, also what is before the
	// base and what still waits in the inbox (with Seq 0).
	Read(ctx context.Context, thread chat.ThreadID) ([]Entry, error)

	// Tail returns what is new in a thread since an entry with this Seq (0: the
	// log from its base on), for those who keep what they computed of the rest.
	Tail(ctx context.Context, thread chat.ThreadID, after uint64) (Tail, error)
}

// Tail is the end of a log. What was computed of the entries up to `after` may
// be gone on with as long as Base is not beyond the next one and Last is not
// before it; otherwise the log was trimmed, erased or lost, and is to be read
// from its base on.
type Tail struct {
	Base  uint64  // Seq from which the log is loaded
	Last  uint64  // Seq of the last entry
	Log   []Entry // with a Seq above the one asked for, and not before Base
	Inbox []Entry // what still waits, with Seq 0
}

// Catchup is what an adapter needs to find out what it missed while it was
// not connected.
type Catchup interface {
	// Pending lists the approval messages of a platform that are not decided.
	Pending(ctx context.Context, platform string) iter.Seq2[PendingApproval, error]
	// Watermarks lists the platform's threads touched since then, each with
	// the latest message that was put for it: of more than so many at least so many,
	// those that were touched last; 0: all. Fewer are all that there are.
	Watermarks(ctx context.Context, platform string, since time.Time, most int) iter.Seq2[Watermark, error]
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
	// Lines lists all lines as they are kept, in an order in which those of one
	// thread follow each other. A line that makes no sense is listed too.
	Lines(ctx context.Context) iter.Seq2[KeptLine, error]
	// Heads gives the end of every thread's chain, as the store keeps it to go
	// on from there.
	Heads(ctx context.Context) (map[chat.ThreadID]Head, error)
}

// KeptLine is a line of the audit log as a store keeps it.
type KeptLine struct {
	Thread string // under which it is kept; empty where it is kept under none
	Raw    []byte
}

// Blobs keeps the content of files. A blob expires with its thread, and is
// erased when the thread is forgotten, unless a message names it that is still there.
type Blobs interface {
	// PutBlob keeps data under a name that depends on thread and content only.
	// More than BlobCap bytes is an error, and so is [FullError] what would not
	// fit beside what is kept.
	PutBlob(ctx context.Context, thread chat.ThreadID, data []byte) (name string, err error)
	// Blob returns the content, or ErrNoBlob.
	Blob(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error)
	// DropBlob erases a blob. One that is gone is no error.
	DropBlob(ctx context.Context, thread chat.ThreadID, name string) error
}

// Quota is how many bytes of blobs are kept; 0: as many as come.
type Quota struct{ Thread, All int64 }

// FullError is returned for a blob that would be more than a [Quota] allows.
type FullError struct {
	Most int64 // bytes
	All  bool  // of all threads together, not of this one
}

// Error says which limit it is.
func (e FullError) Error() string {
	if e.All {
		return fmt.Sprintf("with it all threads together would hold more than %d bytes of files", e.Most)
	}
	return fmt.Sprintf("with it this thread would hold more than %d bytes of files", e.Most)
}

// ErrNoBlob is returned for a blob that was never kept, or is gone.
var ErrNoBlob = errors.New("no such blob")

// Counters count what limits are about.
type Counters interface {
	// Count adds n to the counter (0 only reads it) and returns its value. A
	// counter is gone ttl after its first use.
	Count(ctx context.Context, name string, n int64, ttl time.Duration) (int64, error)
}

// Notes keep small values over a restart, for adapters and for what processes share.
type Notes interface {
	// Note keeps the value under a name, instead of what was there; an empty one
	// erases it.
	Note(ctx context.Context, name string, value []byte) error
	// Noted returns what was noted last, or nothing.
	Noted(ctx context.Context, name string) ([]byte, error)
	// Swap is Note where old is what is noted, and else changes nothing, so that
	// processes can keep one value together. It says whether value is what is noted
	// now: repeating it is harmless.
	Swap(ctx context.Context, name string, old, value []byte) (done bool, err error)
}

// Lister lists threads, for whoever runs nod; both stores and what views them can. What lists threads of other processes,
// too, may miss one that is touched meanwhile: it then stands further ahead.
type Lister interface {
	// Threads lists threads that are kept, the one touched last first.
	Threads(ctx context.Context, q ListQuery) ([]Listed, error)
}

// ListQuery says which threads, and how many. To go on, After is the last one of
// the page before; the zero one begins.
type ListQuery struct {
	Platforms []string
	Since     time.Time // touched since then; zero: ever
	After     Listed
	Most      int
}

// Listed is a thread of a list.
type Listed struct {
	Thread  chat.ThreadID
	Touched time.Time // when it was touched last, to the second
}

// Before says whether l stands before o in a list: it was touched later.
func (l Listed) Before(o Listed) bool {
	if !l.Touched.Equal(o.Touched) {
		return l.Touched.After(o.Touched)
	}
	return l.Thread.String() > o.Thread.String()
}

// Full is everything that nod needs of a store; both packages' Open return it.
type Full interface {
	Store
	Referrer
	Reader
	Catchup
	Auditor
	Blobs
	Counters
	Notes
}
