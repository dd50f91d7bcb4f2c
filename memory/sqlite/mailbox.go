package sqlite

import (
	"context"
	"slices"
	"sync"

	"nod/memory"
)

// op is one operation for the writer.
type op struct {
	// do runs inside the transaction that the operation shares with others. It
	// may run more than once, and only the last time counts.
	do    func(*writer) error
	after func() // runs when it is committed, in the order of the operations
	wrote bool   // something, in the transaction that committed it
	err   error
	done  chan struct{}
}

// mailbox holds the operations that wait for the writer.
type mailbox struct {
	mu     sync.Mutex
	ops    []*op
	more   chan struct{} // has room for one: there is something to take
	closed bool
}

func (m *mailbox) init() { m.more = make(chan struct{}, 1) }

// add says false when nothing is taken any more.
func (m *mailbox) add(o *op) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.ops = append(m.ops, o)
	m.ring()
	return true
}

// only adds one for whoever takes it himself, if nothing else waits.
func (m *mailbox) only(o *op) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || len(m.ops) > 0 {
		return false
	}
	m.ops = append(m.ops, o)
	return true
}

// ring has the writer look.
func (m *mailbox) ring() {
	select {
	case m.more <- struct{}{}:
	default:
	}
}

// take gives the next operation; nil when there is none.
func (m *mailbox) take() *op {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.ops) == 0 {
		return nil
	}
	o := m.ops[0]
	m.ops[0] = nil
	m.ops = m.ops[1:]
	return o
}

// back takes an operation back. False: the writer has it.
func (m *mailbox) back(o *op) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.ops, o)
	if i >= 0 {
		m.ops = slices.Delete(m.ops, i, i+1)
	}
	return i >= 0
}

// count says how many operations wait.
func (m *mailbox) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.ops)
}

// state says whether something waits, and whether that is all that will come.
func (m *mailbox) state() (waits, closed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.ops) > 0, m.closed
}

func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.ring()
}

// submit writes an operation, or hands it to the writer and waits for it. Whoever gets an
// error knows that nothing was done: an operation that the writer has is waited
// for, and one that it has not is taken back.
func (s *Store) submit(ctx context.Context, o *op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o.done = make(chan struct{})
	if s.byItself(o) {
		return o.err
	}
	if !s.ops.add(o) {
		return memory.ErrFenced
	}
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
	}
	if s.ops.back(o) {
		return ctx.Err()
	}
	<-o.done
	return o.err
}

// do submits an operation that needs nothing but the writer.
func (s *Store) do(ctx context.Context, f func(*writer) error) error {
	return s.submit(ctx, &op{do: f})
}
