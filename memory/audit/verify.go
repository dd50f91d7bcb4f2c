package audit

import (
	"fmt"
	"maps"
	"slices"

	"nod/memory"
)

// Fault is one fault of a log.
type Fault struct {
	Thread string // or "checkpoint", "header", "line N" for faults of no thread
	Seq    uint64
	What   string
}

// The faults.
const (
	Changed      = "changed"
	Missing      = "missing"
	Inserted     = "inserted"
	OutOfOrder   = "out of order"
	CutOff       = "cut off"
	BadSignature = "bad signature"
)

// String describes the fault in a line.
func (f Fault) String() string { return fmt.Sprintf("%s:%d: %s", f.Thread, f.Seq, f.What) }

// checker reads the lines of a log, in order.
type checker struct {
	from   map[string]memory.Head // where the chains begin in this log
	points []Checkpoint
	chains map[string]*chain
	order  []string
	lines  int
	faults []Fault
}

// chain is the state of a thread's lines so far.
type chain struct {
	end  memory.Head
	gaps [][2]uint64 // of Seq, that were passed over
}

func newChecker(from map[string]memory.Head, points ...Checkpoint) *checker {
	return &checker{from: from, points: points, chains: map[string]*chain{}}
}

func (c *checker) fault(thread string, seq uint64, what string) {
	c.faults = append(c.faults, Fault{thread, seq, what})
}

func (c *checker) chain(thread string) *chain {
	k := c.chains[thread]
	if k == nil {
		k = &chain{end: c.from[thread]}
		c.chains[thread] = k
		c.order = append(c.order, thread)
	}
	return k
}

// line checks the next line; kept is the thread in its stored name, if any.
func (c *checker) line(raw []byte, kept string) {
	c.lines++
	l, sound := memory.ReadLine(raw)
	thread := l.Thread.String()
	if kept == "" && l.Seq == 0 {
		c.fault(fmt.Sprintf("line %d", c.lines), 0, Changed)
		return
	}
	if kept != "" && kept != thread {
		thread, sound = kept, false
	}
	k := c.chain(thread)
	if !sound {
		c.fault(thread, l.Seq, Changed)
		if l.Seq != k.end.Seq+1 {
			return // nobody knows where it stood
		}
	}
	c.place(thread, k, l)
}

// place checks a line against the earlier lines of its thread.
func (c *checker) place(thread string, k *chain, l memory.AuditLine) {
	next := k.end.Seq + 1
	switch {
	case l.Seq < next && k.fills(l.Seq):
		c.fault(thread, l.Seq, OutOfOrder)
		return
	case l.Seq < next:
		c.fault(thread, l.Seq, Inserted)
		return
	case l.Seq > next:
		k.gaps = append(k.gaps, [2]uint64{next, l.Seq - 1})
	case l.Prev != k.end.Hash:
		c.fault(thread, l.Seq, Changed)
	}
	k.end = memory.Head{Seq: l.Seq, Hash: l.Hash}
	for _, p := range c.points {
		if h, ok := p.Heads[thread]; ok && h.Seq == l.Seq && h.Hash != l.Hash {
			c.fault(thread, l.Seq, Changed)
			break
		}
	}
}

// fills closes the gap of a Seq.
func (k *chain) fills(seq uint64) bool {
	for i, g := range k.gaps {
		if seq < g[0] || seq > g[1] {
			continue
		}
		k.gaps = slices.Delete(k.gaps, i, i+1)
		if g[0] < seq {
			k.gaps = append(k.gaps, [2]uint64{g[0], seq - 1})
		}
		if seq < g[1] {
			k.gaps = append(k.gaps, [2]uint64{seq + 1, g[1]})
		}
		return true
	}
	return false
}

// end reports missing lines.
func (c *checker) end() {
	for _, thread := range c.order {
		for _, g := range c.chains[thread].gaps {
			c.fault(thread, g[0], Missing)
		}
	}
	cut := map[string]bool{}
	for _, p := range c.points {
		for _, thread := range slices.Sorted(maps.Keys(p.Heads)) {
			end, want := c.ended(thread), p.Heads[thread]
			if end.Seq < want.Seq && !cut[thread] {
				cut[thread] = true
				c.fault(thread, end.Seq+1, CutOff)
			}
		}
	}
}

func (c *checker) ended(thread string) memory.Head {
	if k := c.chains[thread]; k != nil {
		return k.end
	}
	return c.from[thread]
}

// within reports lines behind these ends, or other ends.
func (c *checker) within(heads map[string]memory.Head) {
	for _, thread := range c.order {
		end, want := c.chains[thread].end, heads[thread]
		switch {
		case end.Seq > want.Seq:
			c.fault(thread, want.Seq+1, Inserted)
		case end.Seq == want.Seq && end.Hash != want.Hash:
			c.fault(thread, end.Seq, Changed)
		}
	}
}

// exactly reports differences from a list of ends.
func (c *checker) exactly(heads map[string]memory.Head) {
	c.within(heads)
	for _, thread := range slices.Sorted(maps.Keys(heads)) {
		if end := c.ended(thread); end.Seq < heads[thread].Seq {
			c.fault(thread, end.Seq+1, CutOff)
		}
	}
}

// report gives the faults, each once.
func (c *checker) report() Report {
	seen := map[Fault]bool{}
	faults := slices.DeleteFunc(c.faults, func(f Fault) bool {
		twice := seen[f]
		seen[f] = true
		return twice
	})
	return Report{Lines: c.lines, Threads: len(c.chains), Faults: faults}
}

// Report is the result of a check.
type Report struct {
	Lines, Threads int
	Key            string // hex, of the key that signed
	Faults         []Fault
}
