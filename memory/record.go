package memory

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"nod/chat"
)

// Record is one fact of a store, in the form that all stores share.
type Record struct {
	Kind   string // one of the constants below
	Thread string // chat.ThreadID; empty: a fact of the whole store
	Key    string
	N      uint64 // a Seq, a place in an order, or a value
	At     int64  // milliseconds
	Until  int64  // milliseconds; 0: for good
	Value  []byte
	Text   []byte
}

// The kinds of records. The records of a thread follow its RecordThread.
const (
	RecordThread  = "thread"  // Value is a ThreadState, N the Seq from which its log has no gap
	RecordLog     = "log"     // N is the Seq
	RecordInbox   = "inbox"   // N is the place
	RecordPending = "pending" // Key is the call, Value the message
	RecordFile    = "file"    // Key is the name
	RecordEvent   = "event"   // Key is the channel, a space and the event's id
	RecordHead    = "head"    // Key is the chain, Value a Head; the thread is the chain's
	RecordAudit   = "audit"   // Key is the chain, N the place of the line in the audit log
	RecordPerson  = "person"  // Key is the person, Value the key of the pseudonym
	RecordCounter = "counter" // N is the value
	RecordNote    = "note"
	RecordFloor   = "floor" // N: threads that begin anew go on from there; not every store has it
)

// Effects gives the effects of the record of an entry.
func (r Record) Effects(thread chat.ThreadID) Effects {
	return EffectsOf(thread, []Entry{{Body: Decode(r.Value)}})
}

// ThreadState is a thread without its entries. Times are milliseconds, LastSent is
// microseconds.
type ThreadState struct {
	Seq, Base              uint64
	Woken, WakeAt, Touched int64
	Gone                   bool
	LastRef                string
	LastSent               int64
}

// Record gives the state as the record of a thread whose log has these entries.
func (t ThreadState) Record(thread string, log []Record) (Record, error) {
	first := t.Seq + 1
	for _, r := range slices.Backward(log) {
		if r.N+1 != first {
			break
		}
		first = r.N
	}
	if t.Gone {
		t = ThreadState{Seq: t.Seq, Gone: true}
	}
	raw, err := json.Marshal(t)
	return Record{Kind: RecordThread, Thread: thread, N: first, Value: raw}, err
}

// Portable is a store that can be copied into another one. No service runs on either.
type Portable interface {
	Notes
	// Records lists all records of the store, in an order that stays the same while
	// nothing changes: first the threads, each with its log, inbox and approvals, then
	// the others: people before what has their pseudonyms.
	Records(ctx context.Context) iter.Seq2[Record, error]
	// Restore adds records. A RecordThread replaces what the store has of the thread.
	// Entries make their messages known ([Record.Effects]).
	// Repeating a call with all records of its threads changes nothing.
	Restore(ctx context.Context, records []Record) error
	// Running says whether a service runs on the store.
	Running(ctx context.Context) (bool, error)
	Close() error
}
