package agent

import "nod/memory"

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
// call, which alone can be replaced by a stub, of stub tokens.
type sized struct {
	call   string
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

// trim says what to leave out so that the prompt fits the budget, given what
// is left out already; it returns cut unchanged when it fits. Whole turns go
// first, the oldest first; then old results become stubs; at last every text
// is clipped. A call is never parted from its result, since both are of one
// turn and a stub is still a result, and nothing changes its order. The
// current exchange stays.
func trim(s shape, budget int, cut memory.Trimmed) memory.Trimmed {
	if budget <= 0 || s.size(cut) <= budget {
		return cut
	}
	target := int(float64(budget) * keepShare)
	for i := 0; i < len(s.turns)-1 && s.size(cut) > target; i++ {
		cut.Before = max(cut.Before, s.turns[i+1].seq)
	}
	for _, p := range s.results(cut) {
		if s.size(cut) <= target {
			break
		}
		cut.Stubs = append(cut.Stubs[:len(cut.Stubs):len(cut.Stubs)], p.call)
	}
	if cut.Clip == 0 && s.size(cut) > budget {
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

// results lists the pieces that can become stubs, but for those of the newest
// results, which the model has not seen yet.
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

// trailing counts the results at the end of a turn.
func trailing(pieces []sized) int {
	n := 0
	for i := len(pieces) - 1; i >= 0 && pieces[i].call != ""; i-- {
		n++
	}
	return n
}

// size is the prompt's size in tokens under a cut. A clipped text counts a
// token a byte, which is the most that it can have.
func (s shape) size(cut memory.Trimmed) int {
	stubbed := stubs(cut)
	total := s.fixed
	for _, t := range s.turns {
		if t.seq < cut.Before {
			continue
		}
		for _, p := range t.pieces {
			n := p.tokens
			if p.call != "" && stubbed[p.call] {
				n = p.stub
			}
			if cut.Clip > 0 {
				n = min(n, cut.Clip)
			}
			total += n + s.each
		}
	}
	return total
}

func stubs(cut memory.Trimmed) map[string]bool {
	m := make(map[string]bool, len(cut.Stubs))
	for _, c := range cut.Stubs {
		m[c] = true
	}
	return m
}
