package agent

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
			p := sized{tokens: rapid.IntRange(1, 400).Draw(t, "tokens")}
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
			if upTo.size(cut) <= budget && (next.Before != cut.Before || len(next.Stubs) != len(cut.Stubs) || next.Clip != cut.Clip) {
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
