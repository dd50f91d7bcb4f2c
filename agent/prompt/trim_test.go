package prompt

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"nod/memory"
)

func drawShape(t *rapid.T) shape {
	s := shape{fixed: rapid.IntRange(0, 200).Draw(t, "fixed"), each: rapid.IntRange(0, 20).Draw(t, "each")}
	seq := uint64(0)
	for i := range rapid.IntRange(1, 30).Draw(t, "turns") {
		seq += uint64(rapid.IntRange(1, 9).Draw(t, "gap"))
		turn := turnShape{seq: seq}
		for k := range rapid.IntRange(1, 8).Draw(t, "pieces") {
			p := sized{step: uint64(i*100 + k/3), tokens: rapid.IntRange(1, 400).Draw(t, "tokens")}
			if k > 0 && rapid.Bool().Draw(t, "result") {
				p.call, p.stub = fmt.Sprint(i, "-", k), min(p.tokens, 20)
			}
			turn.pieces = append(turn.pieces, p)
		}
		s.turns = append(s.turns, turn)
	}
	return s
}

// A trim fits the budget, keeps the current turn, and goes on from the last one
// instead of taking anything back.
func TestTrimProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawShape(t)
		budget := rapid.IntRange(1000, 6000).Draw(t, "budget")
		var cut memory.Trimmed
		for n := 1; n <= len(s.turns); n++ {
			upTo := shape{fixed: s.fixed, each: s.each, turns: s.turns[:n]}
			next := trim(upTo, budget, cut)
			if size := upTo.size(next); size > budget {
				t.Fatalf("%d tokens after the trim, over the budget of %d", size, budget)
			}
			if next.Before > upTo.turns[n-1].seq {
				t.Fatal("the current turn was left out")
			}
			if next.Before < cut.Before || len(next.Stubs) < len(cut.Stubs) {
				t.Fatal("a trim took back what was left out")
			}
			if cut.Clip == 0 && upTo.size(cut) <= budget && (next.Before != cut.Before || len(next.Stubs) != len(cut.Stubs) || next.Clip != 0) {
				t.Fatal("trimmed what fits")
			}
			cut = next
		}
	})
}

// Without a budget nothing is left out.
func TestTrimUnlimited(t *testing.T) {
	s := shape{turns: []turnShape{{seq: 1, pieces: []sized{{tokens: 1 << 30}}}}}
	if got := trim(s, 0, memory.Trimmed{}); got.Before != 0 || got.Clip != 0 {
		t.Errorf("trim without a budget = %+v", got)
	}
}

// A turn of very many results is made to fit by leaving its oldest steps out, and
// what that cost is linear.
func TestTrimLongTurn(t *testing.T) {
	turn := turnShape{seq: 1, pieces: []sized{{tokens: 50}}}
	for i := range 10_000 {
		turn.pieces = append(turn.pieces, sized{step: uint64(i + 2), tokens: 20}, sized{step: uint64(i + 2), call: fmt.Sprint(i), tokens: 80, stub: 20})
	}
	s := shape{fixed: 100, each: 8, turns: []turnShape{turn}}
	cut := trim(s, 16_000, memory.Trimmed{})
	if size := s.size(cut); size > 16_000 || size < 8_000 {
		t.Errorf("%d tokens after the trim, with a budget of 16000", size)
	}
	if cut.Clip != 0 || cut.Steps == 0 {
		t.Errorf("clipped to %d, steps left out up to %d: want no clipping", cut.Clip, cut.Steps)
	}
}

// A text that was clipped for one turn is whole again once that turn is left out.
func TestClipEnds(t *testing.T) {
	big := turnShape{seq: 1}
	for range 30 {
		big.pieces = append(big.pieces, sized{tokens: 1000})
	}
	cut := trim(shape{turns: []turnShape{big}}, 16_000, memory.Trimmed{})
	if cut.Clip == 0 {
		t.Fatal("30,000 tokens of one turn were not clipped")
	}
	later := shape{turns: []turnShape{big, {seq: 90, pieces: []sized{{tokens: 900}}}}}
	if cut = trim(later, 16_000, cut); cut.Clip != 0 {
		t.Errorf("still clipped to %d bytes", cut.Clip)
	}
}
