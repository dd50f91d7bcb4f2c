// Package memory holds the entries of a thread's log, and the contract of a store
// that keeps logs.
//
// A thread is a log. People, clocks, platforms and slow work put entries into its
// inbox. A run claims the thread, sees the inbox as the end of the log, and appends
// its own entries. Other packages compute everything else from the log: the next
// action, the prompt and the view.
//
// There are two stores, memory/sqlite and memory/redis, and one contract suite
// (internal/storetest) that both pass.
package memory

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"nod/chat"
)

// ErrFenced is returned when a thread's log is not the one that the run has seen. Its
// lease ran out and another run went on, the store came back older, or the store was
// closed. Nothing was written.
var ErrFenced = errors.New("the thread went on without this run")

// FormatError is returned by Open for a store of another format than this build reads.
// Nothing was changed.
type FormatError struct{ Have, Reads int }

// CheckFormat refuses a store of another format. An empty store has format 0.
func CheckFormat(have, reads int) error {
	if have == 0 || have == reads {
		return nil
	}
	return FormatError{have, reads}
}

// Error names both formats, and the remedy.
func (e FormatError) Error() string {
	said := fmt.Sprintf("store: format %d; this build reads %d", e.Have, e.Reads)
	if e.Have < e.Reads {
		said += ": a build before 0.1.0 wrote it, and no release reads that; keep it aside and name a new store in `store`"
	}
	return said
}

// Doing names in an error what failed; nil stays nil.
func Doing(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Store keeps the logs of threads. All methods are safe for concurrent use,
// except that one goroutine at a time uses a Run. After an error nothing was
// changed, or nobody knows whether it was (the connection broke). Calling again
// with the same event ids is always safe.
//
// The truth is a comparison: the store takes a commit if the log is still the one
// that the run has seen. A lease only keeps two processes from the same work at
// the same time. A lost lease costs money, never truth.
type Store interface {
	// Put adds an entry to the thread's inbox and wakes the thread, atomically
	// and durably: once it returns nil, the adapter may acknowledge the event to
	// the platform. If the thread's channel knows any of the event ids, nothing
	// changes and fresh is false. Adapters call it, and workers with an outcome:
	// it needs no claim, and may be repeated without limit.
	Put(ctx context.Context, thread chat.ThreadID, body Body, eventIDs ...string) (fresh bool, err error)

	// PutRef is Put for an entry that names a message and no thread, such as a
	// reaction. While no thread has the message, the store keeps the entry for
	// RefWait. It enters the inbox with the commit that makes the message known.
	PutRef(ctx context.Context, ref chat.MessageRef, body Body, eventIDs ...string) (fresh bool, err error)

	// Next claims a woken thread of one of the platforms: it takes the lease
	// under a new token, and returns the log from its base on, with the inbox at
	// its end (a passed deadline comes as a Due). It blocks until there is one or
	// ctx is done. An unreadable entry is a [Broken] or an [Unknown] in the log,
	// never an error. The run loop calls it.
	Next(ctx context.Context, platforms ...string) (*Run, error)

	// Commit appends the bodies to the log of the claimed thread, then moves
	// the inbox to the log. It updates run.Log, and returns the new inbox entries.
	// With no bodies it only fetches those. The effects of the entries on refs,
	// approvals, audit and base ([EffectsOf]) are part of the transaction.
	//
	// ErrFenced is final. After any other error the run is still held, and the
	// same commit may be tried again, for hours if need be: it happens once.
	// A commit survives a power cut as far as the store can ensure that.
	Commit(ctx context.Context, run *Run, bodies ...Body) (arrived []Entry, err error)

	// Finish is a Commit that also releases the thread, to be woken at wakeAt
	// (never, when zero) or by the next entry. If an entry arrived meanwhile, it
	// releases nothing and reports more. Errors are as for Commit.
	Finish(ctx context.Context, run *Run, wakeAt time.Time, bodies ...Body) (more bool, err error)

	// Handoff releases the thread and wakes it, so that another process continues
	// at once.
	Handoff(ctx context.Context, run *Run) error

	// Self names this process among those that share the store. The name holds
	// for the life of the process, and no other process ever has it.
	Self() string

	// Silent says how long a process has been silent, by the store's clock and in
	// the thread's part of the store; [Forever] if it can't come back. By that a
	// run knows whether another process's call may still end.
	Silent(ctx context.Context, thread chat.ThreadID, process string) (time.Duration, error)

	// Ping says whether the store answers and takes writes. It leaves nothing
	// behind.
	Ping(ctx context.Context) error

	// Close releases this process's threads and waits for its goroutines.
	Close() error
}

// Forever is the silence of a process that is gone for good.
const Forever = time.Duration(1<<63 - 1)

// Run is a claimed thread.
type Run struct {
	Thread chat.ThreadID
	// Token is a random word that no other claim ever has, not even after a
	// server lost its last writes. Names of the claim's calls hold it, so no name
	// is used twice.
	Token string
	Log   []Entry // from the base on, in order; Commit appends to it
	// Claimed is the Seq of the first entry that came with this claim, or of the
	// next entry if the inbox was empty. An earlier run may have acted on older
	// entries and died.
	Claimed uint64
	Now     time.Time     // the store's clock at the claim
	Waited  time.Duration // from the wake to the claim

	// Bell rings when something arrived in the inbox while the run is held, and
	// when the lease is lost.
	Bell *Bell

	// Doubt says whether another process may hold the thread by now, since the
	// store was silent for the length of a lease; nil: never. The driver asks it
	// right before it sends something that must not be sent twice.
	Doubt func() bool

	// Kept is the value that the thread's last run left here, if that was in this
	// process and Log continues where that run saw its end; nil otherwise. Before
	// Finish a run may leave here a value computed from Log. The store keeps it in
	// memory as long as it remembers the log.
	Kept any

	// Held belongs to the store that made the run.
	Held any
}

// Referrer makes messages of other channels known. Both stores implement it.
type Referrer interface {
	// Refer makes a message of another channel name a thread for [ReferTTL], so
	// that PutRef finds it. Entries that waited for the message enter the thread's
	// inbox. The driver calls it before the commit that names the message, because
	// a store's index of a channel can't change in the transaction of another
	// channel's thread. So the index may lead the log, never trail it. Repeating it
	// is harmless.
	Refer(ctx context.Context, ref chat.MessageRef, thread chat.ThreadID) error
}

// Rewriter changes the entries of a log, so that a person can be erased from it. Both
// stores implement it.
type Rewriter interface {
	// Rewrite has edit read a thread in the order of Read, and replaces the entries for
	// which edit gives a body. A run that holds the thread gets ErrFenced from its next
	// commit, and the thread is claimed anew. Where the thread changes meanwhile, edit is
	// called again. The replaced text is gone from the store's files soon.
	Rewrite(ctx context.Context, thread chat.ThreadID, edit func(log []Entry) []Body) error
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
	// Read returns the whole log that is not erased: also entries before the
	// base, and the inbox (with Seq 0).
	Read(ctx context.Context, thread chat.ThreadID) ([]Entry, error)

	// Tail returns the entries after a Seq (0: the log from its base on), for
	// callers that keep a value computed from the rest.
	Tail(ctx context.Context, thread chat.ThreadID, after uint64) (Tail, error)
}

// Tail is the end of a log. A value computed from the entries up to `after` is
// still good if Base is at most after+1 and Last at least after. Otherwise the log
// was trimmed, erased or lost: read it from its base on.
type Tail struct {
	Base  uint64  // Seq from which the log is loaded
	Last  uint64  // Seq of the last entry
	Log   []Entry // with a Seq above the one asked for, and not before Base
	Inbox []Entry // entries that wait, with Seq 0
}

// Catchup lists the positions from which an adapter looks for missed events after
// a gap in its connection.
type Catchup interface {
	// Pending lists the platform's undecided approval messages, each with the time at
	// which its thread wakes next (zero: none, or a run has the thread).
	Pending(ctx context.Context, platform string) iter.Seq2[PendingApproval, error]
	// Watermarks lists the platform's threads touched since then, each with its
	// latest message. If there are more than most, it lists at least most of them,
	// the latest ones; 0: all.
	Watermarks(ctx context.Context, platform string, since time.Time, most int) iter.Seq2[Watermark, error]
}

// PendingApproval is an approval message without a decision.
type PendingApproval struct {
	Thread chat.ThreadID
	Call   string
	Ref    chat.MessageRef
	Due    time.Time
}

// Watermark is the latest message of a thread that nod heard.
type Watermark = chat.Watermark

// Auditor reads the audit log, which no command erases.
type Auditor interface {
	// Audit lists the lines in the order of writing; of one thread, unless it is
	// zero. It resolves pseudonyms.
	Audit(ctx context.Context, thread chat.ThreadID) iter.Seq2[AuditLine, error]
	// Lines lists all stored lines, those of one thread in a row. It lists an
	// unreadable line too.
	Lines(ctx context.Context) iter.Seq2[KeptLine, error]
	// Heads gives the stored end of every thread's chain, by the name in the lines.
	Heads(ctx context.Context) (map[string]Head, error)
	// Newer calls each for the lines behind a mark, those of one thread in a row; from
	// the empty mark on all. It returns the mark behind them. older says that the line
	// at the mark is not there: the store lost its last lines.
	Newer(ctx context.Context, mark string, each func(KeptLine)) (end string, older bool, err error)
	// Mark gives the mark behind all lines.
	Mark(ctx context.Context) (string, error)
	// People lists the keys of all pseudonyms.
	People(ctx context.Context) ([]Person, error)
}

// Mark is the mark behind a line.
func (l KeptLine) Mark() string { return l.ID + "~" + Short(string(l.Raw)) }

// MarkedID gives the id in the output of Mark.
func MarkedID(mark string) string { return PostName(mark) }

// KeptLine is a stored line of the audit log.
type KeptLine struct {
	ID     string // of the line, in the store's own form; may be empty
	Thread string // the name in the store; may be empty
	Raw    []byte
	Text   []byte // of the reason, encrypted
}

// Blobs keeps the content of files. A blob expires with its thread. `forget` erases
// it, unless a kept message names it.
type Blobs interface {
	// PutBlob keeps data under a name that depends on thread and content only.
	// More than BlobCap bytes are an error. If the [Quota] has no room, the error is
	// a [FullError].
	PutBlob(ctx context.Context, thread chat.ThreadID, data []byte) (name string, err error)
	// Blob returns the content, or ErrNoBlob.
	Blob(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error)
	// DropBlob erases a blob. A missing blob is no error.
	DropBlob(ctx context.Context, thread chat.ThreadID, name string) error
}

// Quota limits the bytes of blobs; 0: no limit.
type Quota struct{ Thread, All int64 }

// FullError is returned for a blob that would exceed a [Quota].
type FullError struct {
	Most int64 // bytes
	All  bool  // of all threads together, not of this one
}

// Error names the limit.
func (e FullError) Error() string {
	if e.All {
		return fmt.Sprintf("with it all threads together would hold more than %d bytes of files", e.Most)
	}
	return fmt.Sprintf("with it this thread would hold more than %d bytes of files", e.Most)
}

// ErrNoBlob is returned for an unknown or erased blob.
var ErrNoBlob = errors.New("no such blob")

// Counters count usage for limits.
type Counters interface {
	// Count adds n to the counter (0 only reads it) and returns its value. A
	// counter expires ttl after its first use.
	Count(ctx context.Context, name string, n int64, ttl time.Duration) (int64, error)
}

// Notes keep small values over a restart, for adapters and between processes.
type Notes interface {
	// Note replaces the value of a name; an empty one erases it.
	Note(ctx context.Context, name string, value []byte) error
	// Noted returns the value of a name, or nothing.
	Noted(ctx context.Context, name string) ([]byte, error)
	// Swap replaces the value if it is old, so that processes can share one value.
	// It says whether the name has the value now, so repeating it is harmless.
	Swap(ctx context.Context, name string, old, value []byte) (done bool, err error)
}

// Lister lists threads for operators. Both stores and their viewers implement it.
// A list may miss a thread that is touched meanwhile: it then stands further ahead.
type Lister interface {
	// Threads lists threads, the latest touched first.
	Threads(ctx context.Context, q ListQuery) ([]Listed, error)
}

// ListQuery selects a page of threads. After is the last thread of the page before;
// zero for the first page.
type ListQuery struct {
	Platforms []string
	Since     time.Time // touched since then; zero: ever
	After     Listed
	Most      int
}

// Listed is a thread of a list.
type Listed struct {
	Thread  chat.ThreadID
	Touched time.Time // to the second
}

// EachThread goes through a list, page by page.
func EachThread(ctx context.Context, l Lister, q ListQuery, do func(chat.ThreadID) error) error {
	q.Most = 500
	for {
		page, err := l.Threads(ctx, q)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, one := range page {
			if err := do(one.Thread); err != nil {
				return err
			}
		}
		q.After = page[len(page)-1]
	}
}

// Before says whether l was touched later than o, and so stands before it.
func (l Listed) Before(o Listed) bool {
	if !l.Touched.Equal(o.Touched) {
		return l.Touched.After(o.Touched)
	}
	return l.Thread.String() > o.Thread.String()
}

// Full is a complete store. Open of both packages returns one.
type Full interface {
	Store
	Referrer
	Reader
	Rewriter
	Catchup
	Auditor
	People
	Blobs
	Counters
	Notes
}
