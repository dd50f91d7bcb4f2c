package sim

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// shrink leaves out of a script whatever the failure does not need: big pieces
// first, then smaller ones, as long as the same rule breaks.
func shrink(sc scene, script []action, f *failure) ([]action, *failure) {
	budget := 600 // episodes
	for size := len(script) / 2; size >= 1; {
		cut := false
		for from := 0; from < len(script) && budget > 0; {
			budget--
			rest := slices.Delete(slices.Clone(script), from, min(len(script), from+size))
			if r := play(sc, rest, nil); r.failed != nil && r.failed.rule == f.rule {
				script, f, cut = rest, r.failed, true
				continue
			}
			from += size
		}
		if !cut || size > 1 {
			size /= 2
		}
		if budget <= 0 {
			break
		}
	}
	return script, f
}

// Report is what came of many episodes.
type Report struct {
	Turns, Episodes, Steps int
	Seed                   uint64 // of the episode that failed
	Rule, What, Path       string // empty: nothing failed
}

// Options say what is played.
type Options struct {
	Seed    uint64
	Turns   int
	Small   bool   // the script of a failure is cut down to what is needed
	Without string // a rule that is not looked at
}

// Run plays episodes from a seed on until so many turns have ended, or until a
// guarantee breaks: then it writes the script to a file.
func Run(o Options) (Report, error) {
	var rep Report
	for seed := o.Seed; rep.Turns < o.Turns; seed++ {
		sc, script := write(seed)
		sc.without = rule(o.Without)
		r := play(sc, script, nil)
		rep.Turns += r.turns
		rep.Steps += r.steps
		rep.Episodes++
		if r.failed == nil {
			continue
		}
		f := r.failed
		if o.Small {
			script, f = shrink(sc, script, f)
		}
		rep.Seed, rep.Rule, rep.What = seed, string(f.rule), f.what
		path, err := keepStory(sc, script, f)
		rep.Path = path
		return rep, err
	}
	return rep, nil
}

// Trace plays the episode of a seed and tells everything that happens in it.
func Trace(seed uint64, out io.Writer, small bool) (rule, what string) {
	sc, script := write(seed)
	if small {
		if r := play(sc, script, nil); r.failed != nil {
			script, _ = shrink(sc, script, r.failed)
		}
	}
	r := play(sc, script, out)
	if r.failed == nil {
		return "", ""
	}
	return string(r.failed.rule), r.failed.what
}

func keepStory(sc scene, script []action, f *failure) (string, error) {
	dir, err := os.MkdirTemp("", "nod-sim-")
	if err != nil {
		return "", fmt.Errorf("keep the script: %w", err)
	}
	path := filepath.Join(dir, fmt.Sprintf("seed-%d.txtar", sc.seed))
	if err := os.WriteFile(path, []byte(story(sc, script, f)), 0o600); err != nil {
		return "", fmt.Errorf("keep the script: %w", err)
	}
	return path, nil
}
