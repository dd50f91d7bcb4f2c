package memory

import (
	"context"
	"iter"
	"slices"

	"nod/chat"
)

// Record is one fact of a store, in the form that all stores share.
type Record struct {
	Kind   string       // one of the constants below
	Thread string       // chat.ThreadID; empty: a fact of the whole store
	State  *ThreadState // of a thread
	Key    string
	N      uint64 // a place in an order, or a value
	Until  int64  // milliseconds; 0: for good
	Value  []byte
	Text   []byte
}

// The kinds of records.
const (
	RecordThread  = "thread"
	RecordFile    = "file"    // Key is the name
	RecordEvent   = "event"   // Key is the channel, a space and the event's id
	RecordHead    = "head"    // Key is the chain, Value a Head; the thread is the chain's
	RecordAudit   = "audit"   // Key is the chain, N the place of the line in the audit log
	RecordPerson  = "person"  // Key is the person, Value the key of the pseudonym
	RecordCounter = "counter" // N is the value
	RecordNote    = "note"
	RecordFloor   = "floor" // N: threads that begin anew go on from there; not every store has it
)

// ThreadState is a thread with its entries. Times are milliseconds, LastSent is
// microseconds. A thread that was erased for its age has its Seq only.
type ThreadState struct {
	Seq, Base              uint64
	Woken, WakeAt, Touched int64
	Gone                   bool
	LastRef                string
	LastSent               int64
	Log, Inbox             []StoredEntry     `json:",omitempty"`
	Pending                map[string]string `json:",omitempty"` // the messages that ask, by call
}

// StoredEntry is an entry in its stored form.
type StoredEntry struct {
	N   uint64 // the Seq, or the place in the inbox
	At  int64  // milliseconds
	Raw []byte
}

// First is the Seq from which the log has no gap.
func (t *ThreadState) First() uint64 {
	first := t.Seq + 1
	for _, e := range slices.Backward(t.Log) {
		if e.N+1 != first {
			break
		}
		first = e.N
	}
	return first
}

// Effects gives the effects of all entries.
func (t *ThreadState) Effects(thread chat.ThreadID) Effects {
	var entries []Entry
	for _, e := range slices.Concat(t.Log, t.Inbox) {
		entries = append(entries, Entry{Body: Decode(e.Raw)})
	}
	return EffectsOf(thread, entries)
}

// Portable is a store that can be copied into another one. No service runs on either.
type Portable interface {
	Notes
	// Records lists all records of the store, in an order that stays the same while
	// nothing changes: first the threads, then their files and the others: people before
	// what has their pseudonyms.
	Records(ctx context.Context) iter.Seq2[Record, error]
	// Restore adds records. A RecordThread replaces what the store has of the thread, but
	// for files. Entries make their messages known ([ThreadState.Effects]). Repeating a
	// call changes nothing.
	Restore(ctx context.Context, records []Record) error
	// Running says whether a service runs on the store.
	Running(ctx context.Context) (bool, error)
	Close() error
}
