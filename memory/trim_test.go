package memory_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"nod/memory"
)

func drawShape(t *rapid.T) memory.Shape {
	s := memory.Shape{Fixed: rapid.IntRange(0, 200).Draw(t, "fixed"), Each: rapid.IntRange(0, 20).Draw(t, "each")}
	seq := uint64(0)
	for i := range rapid.IntRange(1, 30).Draw(t, "turns") {
		seq += uint64(rapid.IntRange(1, 9).Draw(t, "gap"))
		turn := memory.TurnShape{Seq: seq}
		for k := range rapid.IntRange(1, 8).Draw(t, "pieces") {
			p := memory.Piece{Tokens: rapid.IntRange(1, 400).Draw(t, "tokens")}
			if k > 0 && rapid.Bool().Draw(t, "result") {
				p.Call, p.Stub = fmt.Sprint(i, "-", k), min(p.Tokens, 20)
			}
			turn.Pieces = append(turn.Pieces, p)
		}
		s.Turns = append(s.Turns, turn)
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
		for n := 1; n <= len(s.Turns); n++ {
			upTo := memory.Shape{Fixed: s.Fixed, Each: s.Each, Turns: s.Turns[:n]}
			next := memory.Trim(upTo, budget, cut)
			if size := upTo.Size(next); size > budget {
				t.Fatalf("%d tokens after the trim, over the budget of %d", size, budget)
			}
			if next.Before > upTo.Turns[n-1].Seq {
				t.Fatal("the current turn was left out")
			}
			if next.Before < cut.Before || len(next.Stubs) < len(cut.Stubs) {
				t.Fatal("a trim took back what was left out")
			}
			if upTo.Size(cut) <= budget && (next.Before != cut.Before || len(next.Stubs) != len(cut.Stubs) || next.Clip != cut.Clip) {
				t.Fatal("trimmed what fits")
			}
			cut = next
		}
	})
}

// Without a budget nothing is left out.
func TestTrimUnlimited(t *testing.T) {
	s := memory.Shape{Turns: []memory.TurnShape{{Seq: 1, Pieces: []memory.Piece{{Tokens: 1 << 30}}}}}
	if got := memory.Trim(s, 0, memory.Trimmed{}); got.Before != 0 || got.Clip != 0 {
		t.Errorf("Trim without a budget = %+v", got)
	}
}
