package sim

import (
	"bytes"
	"testing"
)

// raced says that the race detector looks on, which has little to see where one
// thing runs at a time, and takes ten times as long for it.
var raced bool

// No guarantee breaks in many episodes of everything going wrong.
func TestEpisodes(t *testing.T) {
	turns := 10_000
	if testing.Short() || raced {
		turns = 500
	}
	r, err := Run(Options{Seed: 1, Turns: turns, Small: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Rule != "" {
		t.Errorf("seed %d\n%s: %s\n%s", r.Seed, r.Rule, r.What, r.Path)
	}
}

// An episode is a function of its seed, to the last entry of every log.
func TestSameSeedSameWorld(t *testing.T) {
	seeds := uint64(10)
	if testing.Short() || raced {
		seeds = 2
	}
	for seed := range seeds {
		var one, two bytes.Buffer
		Trace(seed, &one, false)
		Trace(seed, &two, false)
		if one.Len() == 0 || !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Errorf("seed %d: two episodes of %d and %d bytes", seed, one.Len(), two.Len())
		}
	}
}

// Episodes that once failed: a process that came back drew over what the next one did, its
// steps or a card; a turn that was forgotten ended twice; the store's clock was set back; a
// vote that left a full quorum undid it; a time between two ticks of the store was waited for
// without a pause.
func TestEpisodesThatFailed(t *testing.T) {
	for _, seed := range []uint64{9759, 21596, 81661, 50090, 50450, 53806, 11009} {
		var told bytes.Buffer
		if broken, what := Trace(seed, &told, false); broken != "" {
			t.Errorf("seed %d: %s: %s", seed, broken, what)
		}
	}
}
