package sqlite

import (
	"context"
	"slices"
	"sync"

	"nod/memory"
)

// op is one operation for the writer.
type op struct {
	// do runs inside the shared transaction. It may run more than once; the last time
	// counts.
	do    func(*writer)
	after func() // runs after the commit, in the order of the operations
	wrote bool   // the committed transaction changed a row
	err   error
	done  chan struct{}
}

// mailbox holds the operations that wait for the writer.
type mailbox struct {
	mu     sync.Mutex
	ops    []*op
	more   chan struct{} // wakes the writer; holds one
	closed bool
}

func (m *mailbox) init() { m.more = make(chan struct{}, 1) }

// add queues an operation; false after close.
func (m *mailbox) add(o *op) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.ops = append(m.ops, o)
	signal(m.more)
	return true
}

// signal wakes the reader of a channel, once.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// next removes the first operation; nil when there is none.
func (m *mailbox) next() *op {
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

// withdraw removes an operation; false if the writer has it.
func (m *mailbox) withdraw(o *op) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.ops, o)
	if i >= 0 {
		m.ops = slices.Delete(m.ops, i, i+1)
	}
	return i >= 0
}

// state says how many operations wait, and whether the mailbox is closed.
func (m *mailbox) state() (waiting int, closed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.ops), m.closed
}

func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	signal(m.more)
}

// submit hands an operation to the writer and waits. An error means that nothing was
// done: submit withdraws an operation that the writer does not have, and waits for the
// others.
func (s *Store) submit(ctx context.Context, o *op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o.done = make(chan struct{})
	if !s.ops.add(o) {
		return memory.ErrFenced
	}
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
	}
	if s.ops.withdraw(o) {
		return ctx.Err()
	}
	<-o.done
	return o.err
}

// do is submit for the operation that an error names, and for what comes after it.
func (s *Store) do(ctx context.Context, what string, f func(*writer), after ...func()) error {
	o := &op{do: f}
	if len(after) > 0 {
		o.after = after[0]
	}
	return memory.Doing(what, s.submit(ctx, o))
}
