package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/memory"
)

// copied is a log that somebody works on.
type copied struct {
	lines []memory.KeptLine
	heads map[string]memory.Head
	rand  *rand.Rand
}

func (c *copied) clone() *copied {
	out := &copied{slices.Clone(c.lines), maps.Clone(c.heads), c.rand}
	for i, l := range out.lines {
		out.lines[i].Raw = bytes.Clone(l.Raw)
	}
	return out
}

// of lists the places of a thread's lines.
func (c *copied) of(thread string) (at []int) {
	for i, l := range c.lines {
		if l.Thread == thread {
			at = append(at, i)
		}
	}
	return at
}

func (c *copied) any() (i int, thread string) {
	i = c.rand.IntN(len(c.lines))
	return i, c.lines[i].Thread
}

// edit changes a line, and hashes it again.
func (c *copied) edit(i int) {
	l, _ := memory.DecodeLine(c.lines[i].Raw)
	l.By = append(l.By, "U9")
	c.lines[i].Raw, _, _ = memory.Head{Seq: l.Seq - 1, Hash: l.Prev}.Link(l)
}

// tamperings are what somebody may do; each gives the thread that it was done to.
var tamperings = map[string]func(c *copied) string{
	"flip": func(c *copied) string {
		i, thread := c.any()
		raw := c.lines[i].Raw
		raw[c.rand.IntN(len(raw))] ^= 1 << c.rand.IntN(8)
		return thread
	},
	"drop": func(c *copied) string {
		i, thread := c.any()
		c.lines = slices.Delete(c.lines, i, i+1)
		return thread
	},
	"swap": func(c *copied) string {
		_, thread := c.any()
		at := c.of(thread)
		i, j := at[c.rand.IntN(len(at))], at[c.rand.IntN(len(at))]
		if i == j {
			i, j = at[0], at[1]
		}
		c.lines[i], c.lines[j] = c.lines[j], c.lines[i]
		return thread
	},
	"insert a copy": func(c *copied) string {
		i, thread := c.any()
		c.lines = slices.Insert(c.lines, c.rand.IntN(len(c.lines)+1), c.lines[i])
		return thread
	},
	"insert a line between": func(c *copied) string {
		i, thread := c.any()
		l, _ := memory.DecodeLine(c.lines[i].Raw)
		l.Event, l.Verdict = "vote", "approve"
		raw, _, _ := memory.Head{Seq: l.Seq, Hash: l.Hash}.Link(l)
		at := c.of(thread)
		if i == at[len(at)-1] { // at the end that is a line that was written: no chain can tell
			i = at[0]
		}
		c.lines = slices.Insert(c.lines, i+1, memory.KeptLine{Thread: thread, Raw: raw})
		return thread
	},
	"edit and hash": func(c *copied) string {
		i, thread := c.any()
		c.edit(i)
		return thread
	},
	"edit and hash all that follow": func(c *copied) string {
		i, thread := c.any()
		c.edit(i)
		l, _ := memory.DecodeLine(c.lines[i].Raw)
		end := memory.Head{Seq: l.Seq, Hash: l.Hash}
		for _, j := range c.of(thread) {
			if j > i {
				l, _ := memory.DecodeLine(c.lines[j].Raw)
				c.lines[j].Raw, end, _ = end.Link(l)
			}
		}
		c.heads[thread] = end
		return thread
	},
	"cut out a thread": func(c *copied) string {
		_, thread := c.any()
		c.lines = slices.DeleteFunc(c.lines, func(l memory.KeptLine) bool { return l.Thread == thread })
		delete(c.heads, thread)
		return thread
	},
	"cut off an end": func(c *copied) string {
		_, thread := c.any()
		at := c.of(thread)
		keep := c.rand.IntN(len(at))
		for _, i := range slices.Backward(at[keep:]) {
			c.lines = slices.Delete(c.lines, i, i+1)
		}
		if delete(c.heads, thread); keep > 0 {
			l, _ := memory.DecodeLine(c.lines[c.of(thread)[keep-1]].Raw)
			c.heads[thread] = memory.Head{Seq: l.Seq, Hash: l.Hash}
		}
		return thread
	},
	"name another end": func(c *copied) string {
		_, thread := c.any()
		h := c.heads[thread]
		other := "0"
		if h.Hash[0] == '0' { // hashes are of times too: one in sixteen begins so
			other = "1"
		}
		h.Hash = other + h.Hash[1:]
		c.heads[thread] = h
		return thread
	},
}

func names(r Report, thread string) bool {
	return slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.Thread == thread })
}

// A check names every change of a store's log, up to its newest checkpoint.
func TestTamperedStore(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) world{"sqlite": openSQLite, "redis": openRedis} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			for n := range 3 {
				for _, root := range []string{"1", "2", "3", "4"} {
					w.happens(t, root, n)
				}
			}
			w.keeper(t, "")
			heads, err := w.Heads(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			whole := &copied{w.lines(t), heads, rand.New(rand.NewPCG(1, 2))} //nolint:gosec // repeatable
			check := func() Report {
				t.Helper()
				r, err := VerifyStore(t.Context(), w, public(testKey()), nil)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			w.write(t, whole.lines, whole.heads)
			if r := check(); len(r.Faults) > 0 || r.Lines != 60 || r.Threads != 4 {
				t.Fatalf("of a whole log: %+v", r)
			}
			ways := slices.Sorted(maps.Keys(tamperings))
			for n := range times(2000) {
				c, way := whole.clone(), ways[n%len(ways)]
				thread := tamperings[way](c)
				w.write(t, c.lines, c.heads)
				if r := check(); !names(r, thread) {
					t.Fatalf("%d: %s in %s is not named: %v", n, way, thread, r.Faults)
				}
			}
		})
	}
}

// times is how often something is tried: 10,000 times in all with NOD_LONG=1, and
// every way ten times without.
func times(n int) int {
	if os.Getenv("NOD_LONG") == "" {
		return n / 20
	}
	return n
}

// A check names every change of an export, anywhere. It also names reordered lines of
// different threads, a foreign header or checkpoint, and lines behind the end.
func TestTamperedExport(t *testing.T) {
	t.Parallel()
	w := openSQLite(t)
	for n := range 2 {
		for _, root := range []string{"1", "2", "3"} {
			w.happens(t, root, n)
		}
	}
	w.keeper(t, "")
	half := w.lines(t)
	mid, _ := memory.DecodeLine(half[len(half)/2].Raw)
	for name, since := range map[string]time.Time{"all": {}, "since": mid.At} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := Export(t.Context(), &out, w, ExportOptions{Key: testKey(), Since: since, Now: time.Now()}); err != nil {
				t.Fatal(err)
			}
			tamperWith(t, out.Bytes())
		})
	}
}

func tamperWith(t *testing.T, export []byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // repeatable
	check := func(export []byte) Report {
		t.Helper()
		report, err := VerifyExport(bytes.NewReader(export), nil)
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	if report := check(export); len(report.Faults) > 0 || report.Key != PublicHex(testKey()) {
		t.Fatalf("of a whole export: %+v", report)
	}
	parts := bytes.Split(bytes.TrimSuffix(export, []byte("\n")), []byte("\n"))
	whole := &copied{heads: map[string]memory.Head{}, rand: r}
	for _, raw := range parts[1 : len(parts)-1] {
		l, _ := memory.DecodeLine(raw)
		whole.lines = append(whole.lines, memory.KeptLine{Thread: l.Thread.String(), Raw: raw})
	}
	ways := slices.DeleteFunc(slices.Sorted(maps.Keys(tamperings)), func(way string) bool { return way == "name another end" })
	ways = append(ways, "header", "checkpoint", "order", "behind the end", "end twice")
	for n := range times(3000) {
		c, way := whole.clone(), ways[n%len(ways)]
		head, end := bytes.Clone(parts[0]), bytes.Clone(parts[len(parts)-1])
		thread := ""
		switch way {
		case "header":
			head[r.IntN(len(head))] ^= 1 << r.IntN(8)
		case "checkpoint":
			end[r.IntN(len(end))] ^= 1 << r.IntN(8)
		case "order":
			i := r.IntN(len(c.lines) - 1)
			for c.lines[i].Thread == c.lines[i+1].Thread {
				i = r.IntN(len(c.lines) - 1)
			}
			c.lines[i], c.lines[i+1] = c.lines[i+1], c.lines[i]
		case "behind the end":
			_, thread = c.any()
			at := c.of(thread)
			l, _ := memory.DecodeLine(c.lines[at[len(at)-1]].Raw)
			raw, _, _ := memory.Head{Seq: l.Seq, Hash: l.Hash}.Link(l)
			c.lines = append(c.lines, memory.KeptLine{Thread: thread, Raw: raw})
		case "end twice":
			c.lines = slices.Insert(c.lines, r.IntN(len(c.lines)), memory.KeptLine{Raw: end})
		default:
			thread = tamperings[way](c)
		}
		list := [][]byte{head}
		for _, l := range c.lines {
			list = append(list, l.Raw)
		}
		made := append(bytes.Join(append(list, end), []byte("\n")), '\n')
		if report := check(made); len(report.Faults) == 0 || thread != "" && !names(report, thread) {
			t.Fatalf("%d: %s in %q is not named: %v\n%s", n, way, thread, report.Faults, made)
		}
	}
}

// An archive may rewrite the JSON of an export, with other spaces, orders of names,
// escapes and line ends, without changing its content. If it does change a line, the
// check names that line and no other.
func TestExportWrittenAnew(t *testing.T) {
	t.Parallel()
	w := openSQLite(t)
	w.happens(t, "1", 1)
	w.happens(t, "2", 1)
	var out bytes.Buffer
	if err := Export(t.Context(), &out, w, ExportOptions{Key: testKey(), Now: time.Now(), Names: true}); err != nil {
		t.Fatal(err)
	}
	var anew []string
	for raw := range strings.Lines(out.String()) {
		d := json.NewDecoder(strings.NewReader(raw))
		d.UseNumber()
		var line map[string]any
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		var members []string
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(line))) {
			value, err := json.Marshal(line[name])
			if err != nil {
				t.Fatal(err)
			}
			members = append(members, fmt.Sprintf("%q : %s", name, bytes.ReplaceAll(value, []byte("/"), []byte(`\/`))))
		}
		anew = append(anew, "{ "+strings.Join(members, ", ")+" }\r\n")
	}
	check := func() []Fault {
		t.Helper()
		r, err := VerifyExport(strings.NewReader(strings.Join(anew, "")), public(testKey()))
		if err != nil {
			t.Fatal(err)
		}
		return r.Faults
	}
	if faults := check(); len(faults) > 0 {
		t.Errorf("written anew: %v", faults)
	}
	l, _ := memory.DecodeLine([]byte(anew[2]))
	anew[2] = strings.Replace(anew[2], `"seq" : `, `"reason" : "none", "seq" : `, 1)
	if faults, want := check(), []Fault{{l.Thread.String(), l.Seq, Changed}}; !slices.Equal(faults, want) {
		t.Errorf("written anew, and one line changed: %v, want %v", faults, want)
	}
}

// An export that somebody signs with a key of their own is whole by itself, and not
// with the key that it must be.
func TestExportOfAnother(t *testing.T) {
	t.Parallel()
	w := openSQLite(t)
	w.happens(t, "1", 1)
	var out bytes.Buffer
	if err := Export(t.Context(), &out, w, ExportOptions{Key: testKey(), Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	other := bytes.Repeat([]byte{7}, 32)
	for key, want := range map[string]int{"": 0, string(public(testKey())): 0, string(other): 2} {
		r, err := VerifyExport(bytes.NewReader(out.Bytes()), []byte(key)[:len(key):len(key)])
		if key == "" {
			r, err = VerifyExport(bytes.NewReader(out.Bytes()), nil)
		}
		if err != nil || len(r.Faults) != want {
			t.Errorf("with key %x: %v, %v, want %d faults", key, r.Faults, err, want)
		}
	}
	for name, text := range map[string]string{"nothing": "", "no export": "hello\nworld\n", "a line": "{}\n"} {
		if r, err := VerifyExport(bytes.NewReader([]byte(text)), nil); err != nil || len(r.Faults) == 0 {
			t.Errorf("%s is whole: %v, %v", name, r, err)
		}
	}
	var h Header
	if err := json.Unmarshal(bytes.SplitN(out.Bytes(), []byte("\n"), 2)[0], &h); err != nil || h.Key != PublicHex(testKey()) {
		t.Errorf("header %+v, %v", h, err)
	}
}
