package prompt

import (
	"nod/memory"
)

// shape is a prompt as trimming sees it: sizes in tokens, no text.
type shape struct {
	fixed int // preamble and tool definitions, which always stay
	each  int // what a message costs beside its text
	turns []turnShape
}

// turnShape is one turn; the last one of a shape is the current exchange.
type turnShape struct {
	seq    uint64 // of the message that opened it
	pieces []sized
}

// sized is one message of the prompt. call is set on the result of a tool
// call, which alone can be replaced by a stub, of stub tokens. step is the Seq
// of the step that it is of; 0 for what people said.
type sized struct {
	call   string
	step   uint64
	tokens int
	stub   int
}

// keepShare is how much of the budget is left in use after a trim. Trimming in
// big steps keeps the prompt's prefix the same from call to call, so that the
// providers' prompt caches hit.
const keepShare = 0.6

// minClip is the shortest that a text is cut to, in bytes, as long as that helps;
// leastClip the shortest of all, for a turn of hundreds of messages.
const (
	minClip   = 64
	leastClip = 40
)

// trim says what to leave out so that the prompt fits the budget. It returns cut unchanged
// when the prompt fits. Whole turns go first, the oldest first. Then old results become
// stubs, then the oldest steps of the current exchange go, and at last every text is
// clipped. A call always keeps its result, the order stays, and so do messages of the
// current exchange.
func trim(s shape, budget int, cut memory.Trimmed) memory.Trimmed {
	if budget <= 0 {
		return cut
	}
	target := int(float64(budget) * keepShare)
	whole := cut
	whole.Clip = 0
	size := s.size(whole)
	if size <= target || cut.Clip == 0 && size <= budget {
		return whole
	}
	// Texts stay clipped only while nothing older can be left out.
	if alone := s.turns[len(s.turns)-1].seq <= cut.Before || len(s.turns) == 1; cut.Clip > 0 && alone && s.size(cut) <= budget {
		return cut
	}
	cut = whole
	for i := 0; i < len(s.turns)-1 && size > target; i++ {
		if s.turns[i].seq >= cut.Before {
			size -= s.turns[i].size(s.each, stubs(cut), cut)
		}
		cut.Before = max(cut.Before, s.turns[i+1].seq)
	}
	size = s.stub(&cut, size, target)
	size = s.shorten(&cut, size, budget, target)
	if size > budget {
		cut.Clip = 2 * budget
	}
	for s.size(cut) > budget && cut.Clip > minClip {
		cut.Clip = max(minClip, cut.Clip/2)
	}
	if s.size(cut) > budget {
		cut.Clip = leastClip
	}
	return cut
}

// stub makes stubs of old results, until the size is down to the target.
func (s shape) stub(cut *memory.Trimmed, size, target int) int {
	cut.Stubs = cut.Stubs[:len(cut.Stubs):len(cut.Stubs)]
	for _, p := range s.results(*cut) {
		if size <= target {
			break
		}
		cut.Stubs = append(cut.Stubs, p.call)
		size -= p.tokens - p.stub
	}
	return size
}

// shorten leaves out the oldest steps of the current exchange, where even stubs are too
// many. Its last step stays.
func (s shape) shorten(cut *memory.Trimmed, size, budget, target int) int {
	if size <= budget || len(s.turns) == 0 {
		return size
	}
	pieces := s.turns[len(s.turns)-1].pieces
	last := uint64(0)
	for _, p := range pieces {
		last = max(last, p.step)
	}
	stubbed, leaving := stubs(*cut), uint64(0)
	for _, p := range pieces {
		if p.step == 0 || p.step < cut.Steps {
			continue
		}
		if p.step != leaving && (p.step == last || size <= target) {
			break
		}
		leaving = p.step
		size -= p.size(stubbed, 0) + s.each
	}
	if leaving > 0 {
		cut.Steps = leaving + 1
	}
	return size
}

// results lists the results that can become stubs. The newest ones can't, since the model
// has not seen them.
func (s shape) results(cut memory.Trimmed) []sized {
	stubbed := stubs(cut)
	var out []sized
	for _, t := range s.turns {
		if t.seq < cut.Before {
			continue
		}
		for _, p := range t.pieces {
			if p.call != "" && !stubbed[p.call] && p.stub < p.tokens {
				out = append(out, p)
			}
		}
	}
	if len(s.turns) == 0 {
		return out
	}
	fresh := trailing(s.turns[len(s.turns)-1].pieces)
	return out[:max(0, len(out)-fresh)]
}

func trailing(pieces []sized) int {
	n := 0
	for i := len(pieces) - 1; i >= 0 && pieces[i].call != ""; i-- {
		n++
	}
	return n
}

// size is the prompt's size in tokens under a cut. A clipped text counts a token a byte,
// which is the most that it can have.
func (s shape) size(cut memory.Trimmed) int {
	stubbed := stubs(cut)
	total := s.fixed
	for _, t := range s.turns {
		if t.seq >= cut.Before {
			total += t.size(s.each, stubbed, cut)
		}
	}
	return total
}

// size is the size of a turn under a cut.
func (t turnShape) size(each int, stubbed map[string]bool, cut memory.Trimmed) int {
	total := 0
	for _, p := range t.pieces {
		if p.step == 0 || p.step >= cut.Steps {
			total += p.size(stubbed, cut.Clip) + each
		}
	}
	return total
}

// size is the size of a text under a cut.
func (p sized) size(stubbed map[string]bool, clip int) int {
	n := p.tokens
	if p.call != "" && stubbed[p.call] {
		n = p.stub
	}
	if clip > 0 {
		n = min(n, clip)
	}
	return n
}

// stubs is the set of calls whose results a cut replaces.
func stubs(cut memory.Trimmed) map[string]bool {
	m := make(map[string]bool, len(cut.Stubs))
	for _, c := range cut.Stubs {
		m[c] = true
	}
	return m
}
