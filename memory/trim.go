package memory

// Shape is a prompt as trimming sees it: sizes in tokens, no text.
type Shape struct {
	Fixed int // preamble and tool definitions, which always stay
	Each  int // what a message costs beside its text
	Turns []TurnShape
}

// TurnShape is one turn; the last one of a Shape is the current exchange.
type TurnShape struct {
	Seq    uint64 // of the message that opened it
	Pieces []Piece
}

// Piece is one message of the prompt. Call is set on the result of a tool
// call, which alone can be replaced by a stub, of Stub tokens.
type Piece struct {
	Call   string
	Tokens int
	Stub   int
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

// Trim says what to leave out so that the prompt fits the budget, given what
// is left out already; it returns cut unchanged when it fits. Whole turns go
// first, the oldest first; then old results become stubs; at last every text
// is clipped. A call is never parted from its result, since both are of one
// turn and a stub is still a result, and nothing changes its order. The
// current exchange stays.
func Trim(s Shape, budget int, cut Trimmed) Trimmed {
	if budget <= 0 || s.Size(cut) <= budget {
		return cut
	}
	target := int(float64(budget) * keepShare)
	for i := 0; i < len(s.Turns)-1 && s.Size(cut) > target; i++ {
		cut.Before = max(cut.Before, s.Turns[i+1].Seq)
	}
	for _, p := range s.results(cut) {
		if s.Size(cut) <= target {
			break
		}
		cut.Stubs = append(cut.Stubs[:len(cut.Stubs):len(cut.Stubs)], p.Call)
	}
	if cut.Clip == 0 && s.Size(cut) > budget {
		cut.Clip = 2 * budget
	}
	for s.Size(cut) > budget && cut.Clip > minClip {
		cut.Clip = max(minClip, cut.Clip/2)
	}
	if s.Size(cut) > budget {
		cut.Clip = leastClip
	}
	return cut
}

// results lists the pieces that can become stubs, but for those of the newest
// results, which the model has not seen yet.
func (s Shape) results(cut Trimmed) []Piece {
	stubbed := stubs(cut)
	var out []Piece
	for _, t := range s.Turns {
		if t.Seq < cut.Before {
			continue
		}
		for _, p := range t.Pieces {
			if p.Call != "" && !stubbed[p.Call] && p.Stub < p.Tokens {
				out = append(out, p)
			}
		}
	}
	if len(s.Turns) == 0 {
		return out
	}
	fresh := trailing(s.Turns[len(s.Turns)-1].Pieces)
	return out[:max(0, len(out)-fresh)]
}

// trailing counts the results at the end of a turn.
func trailing(pieces []Piece) int {
	n := 0
	for i := len(pieces) - 1; i >= 0 && pieces[i].Call != ""; i-- {
		n++
	}
	return n
}

// Size is the prompt's size in tokens under a cut. A clipped text counts a
// token a byte, which is the most that it can have.
func (s Shape) Size(cut Trimmed) int {
	stubbed := stubs(cut)
	total := s.Fixed
	for _, t := range s.Turns {
		if t.Seq < cut.Before {
			continue
		}
		for _, p := range t.Pieces {
			n := p.Tokens
			if p.Call != "" && stubbed[p.Call] {
				n = p.Stub
			}
			if cut.Clip > 0 {
				n = min(n, cut.Clip)
			}
			total += n + s.Each
		}
	}
	return total
}

func stubs(cut Trimmed) map[string]bool {
	m := make(map[string]bool, len(cut.Stubs))
	for _, c := range cut.Stubs {
		m[c] = true
	}
	return m
}
