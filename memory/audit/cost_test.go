package audit

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nod/chat"
	"nod/memory"
)

// counted is a store that counts what a keeper reads and writes.
type counted struct {
	Store
	heads, lines, written int
}

func (c *counted) Heads(ctx context.Context) (map[string]memory.Head, error) {
	c.heads++
	return c.Store.Heads(ctx)
}

func (c *counted) Newer(ctx context.Context, mark string, each func(memory.KeptLine)) (string, bool, error) {
	return c.Store.Newer(ctx, mark, func(l memory.KeptLine) {
		c.lines++
		each(l)
	})
}

func (c *counted) Note(ctx context.Context, name string, value []byte) error {
	c.written += len(value)
	return c.Store.Note(ctx, name, value)
}

func (c *counted) Swap(ctx context.Context, name string, old, value []byte) (bool, error) {
	c.written += len(value)
	return c.Store.Swap(ctx, name, old, value)
}

// filled is a store with the ends of many chains that were signed, and the keeper.
func filled(tb testing.TB, w world, n int) (*counted, *Keeper) {
	tb.Helper()
	var lines []memory.KeptLine
	heads := map[string]memory.Head{}
	for i := range n {
		th := chat.ThreadID{Platform: "slack", Channel: fmt.Sprintf("T0TEAM:C0%06d", i%300), Root: fmt.Sprintf("1795614447.%06d", i)}
		raw, end, err := memory.Head{}.Link(memory.AuditLine{Thread: th, At: time.Unix(1e9+int64(i), 0), Event: "started", Call: "1-1-1", Tool: "deploy"})
		if err != nil {
			tb.Fatal(err)
		}
		lines = append(lines, memory.KeptLine{Thread: th.String(), Raw: raw})
		heads[th.String()] = end
	}
	w.write(tb, lines, heads)
	c := &counted{Store: w}
	k := &Keeper{Store: c, Key: testKey(), File: filepath.Join(tb.TempDir(), "nod.key.checkpoint"), Log: quiet}
	if err := k.Begin(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	*c = counted{Store: w}
	return c, k
}

func sizeOf(tb testing.TB, file string) int64 {
	tb.Helper()
	info, err := os.Stat(file)
	if err != nil {
		tb.Fatal(err)
	}
	return info.Size()
}

// A checkpoint reads the lines since the last one and no others, and writes them alone.
// Where no line came it writes nothing. A start after it reads nothing more.
func TestCheckpointCosts(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, 0)
			c, k := filled(t, w, 2000)
			file := sizeOf(t, k.File)
			if err := k.Sign(t.Context()); err != nil || c.heads+c.lines+c.written != 0 || sizeOf(t, k.File) != file {
				t.Errorf("nothing new: %v, %d lists of ends, %d lines read, %d bytes written", err, c.heads, c.lines, c.written)
			}
			w.happens(t, "1", 1)
			if err := k.Sign(t.Context()); err != nil || c.heads != 0 || c.lines != 5 || c.written > 1500 || sizeOf(t, k.File)-file > 1500 {
				t.Errorf("five new lines: %v, %d lists of ends, %d lines read, %d bytes written, and %d into the file",
					err, c.heads, c.lines, c.written, sizeOf(t, k.File)-file)
			}
			again := &Keeper{Store: c, Key: testKey(), File: k.File, Log: quiet}
			*c = counted{Store: w}
			if err := again.Begin(t.Context()); err != nil || c.heads+c.lines+c.written != 0 {
				t.Errorf("a start: %v, %d lists of ends, %d lines read, %d bytes written", err, c.heads, c.lines, c.written)
			}
		})
	}
}

// However many checkpoints follow each other, of one process or two, the newest one
// signs all ends, in the store and beside the key, and so a cut of any thread is named.
// There are few pieces, and the file does not outgrow them.
func TestManyCheckpoints(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, 0)
			dir := t.TempDir()
			one, two := w.keeper(t, filepath.Join(dir, "one")), w.keeper(t, filepath.Join(dir, "two"))
			for i := range 96 {
				w.happens(t, fmt.Sprint(i%80), i)
				if err := []*Keeper{one, two}[i/3%2].Sign(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for _, k := range []*Keeper{one, two} {
				if err := k.Sign(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			heads, err := w.Heads(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range []*Keeper{one, two} {
				raw, err := ReadBeside(k.File)
				if err != nil {
					t.Fatal(err)
				}
				points, faults, err := knownPoints(t.Context(), w, public(testKey()), raw)
				if err != nil || len(faults) > 0 || len(points) != 2 || len(points[1].Ends) > 4 || points[1].Epoch != 1 {
					t.Fatalf("checkpoints %v, %v, %v", points, faults, err)
				}
				for _, p := range points {
					if !maps.Equal(p.Heads, heads) {
						t.Errorf("%d signed ends are not the %d that there are", len(p.Heads), len(heads))
					}
				}
			}
			cut := w.lines(t)
			var left []memory.KeptLine
			for _, l := range cut {
				if !strings.HasSuffix(l.Thread, "/77") {
					left = append(left, l)
				}
			}
			delete(heads, "test/c77/77")
			w.write(t, left, heads)
			r, err := VerifyStore(t.Context(), w, public(testKey()), nil)
			if err != nil || !names(r, "test/c77/77") || len(r.Faults) != 1 {
				t.Errorf("after a cut: %v, %v", r, err)
			}
		})
	}
}

// A piece that is gone or changed is a fault of the checkpoint, unless the file beside
// the key has it. The next checkpoint mends it.
func TestLostPiece(t *testing.T) {
	t.Parallel()
	w := openSQLite(t)
	for i := range mostLatest + 1 {
		w.happens(t, fmt.Sprint(i), i)
	}
	k := w.keeper(t, filepath.Join(t.TempDir(), "beside"))
	if len(k.last.Ends) != 1 {
		t.Fatalf("%d pieces, want one", len(k.last.Ends))
	}
	raw, err := ReadBeside(k.File)
	if err != nil {
		t.Fatal(err)
	}
	check := func(beside []byte) int {
		t.Helper()
		r, err := VerifyStore(t.Context(), w, public(testKey()), beside)
		if err != nil {
			t.Fatal(err)
		}
		return len(r.Faults)
	}
	if n := check(nil); n != 0 {
		t.Fatalf("%d faults of a whole log", n)
	}
	for what, piece := range map[string][]byte{"changed": []byte(`{"event":"ends","heads":{}}`), "gone": nil} {
		if err := w.Note(t.Context(), pieceNote(k.last.Ends[0].Hash), piece); err != nil {
			t.Fatal(err)
		}
		if check(nil) != 1 || check(raw) != 0 {
			t.Errorf("%s: %d faults, and %d with the file; want 1 and 0", what, check(nil), check(raw))
		}
	}
	for i := range mostLatest + 1 {
		w.happens(t, "x"+fmt.Sprint(i), i)
	}
	if err := k.Sign(t.Context()); err != nil || check(nil) != 0 || k.last.Epoch != 1 {
		t.Errorf("after the next checkpoint: %v, %d faults, epoch %d", err, check(nil), k.last.Epoch)
	}
}

// The end of the file beside the key may be cut off by a crash: the checkpoint before
// counts, and the next one is behind it again. A file that became too long is shortened.
func TestBesideCutOff(t *testing.T) {
	t.Parallel()
	w := openSQLite(t)
	w.happens(t, "1", 1)
	k := w.keeper(t, filepath.Join(t.TempDir(), "beside"))
	before := k.raw
	w.happens(t, "1", 2)
	if err := k.Sign(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(k.File)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(k.File, raw[:len(raw)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	cut, err := ReadBeside(k.File)
	if err != nil || !bytes.Equal(parseBeside(cut).newest, before) {
		t.Errorf("of a file that was cut off: %s, %v, want %s", parseBeside(cut).newest, err, before)
	}
	k = w.keeper(t, k.File)
	w.happens(t, "1", 3)
	if err := k.Sign(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw, err = ReadBeside(k.File)
	if err != nil || !bytes.Equal(parseBeside(raw).newest, k.raw) || k.last.Epoch != 1 {
		t.Errorf("then: %s, %v, epoch %d", raw, err, k.last.Epoch)
	}
	if err := os.WriteFile(k.File, append(bytes.Repeat([]byte("\n"), spareBeside), raw...), 0o600); err != nil {
		t.Fatal(err)
	}
	k = w.keeper(t, k.File)
	w.happens(t, "1", 4)
	if err := k.Sign(t.Context()); err != nil || sizeOf(t, k.File) > 2000 {
		t.Errorf("%d bytes (%v), want it shortened", sizeOf(t, k.File), err)
	}
}

// BenchmarkCheckpoint makes a checkpoint of one new line, where there are 100,000 ends.
func BenchmarkCheckpoint(b *testing.B) {
	for name, open := range stores {
		b.Run(name, func(b *testing.B) {
			w := open(b, 0)
			c, k := filled(b, w, 100_000)
			file, cpu := sizeOf(b, k.File), time.Duration(0)
			n := 0
			for b.Loop() {
				b.StopTimer()
				w.happens(b, fmt.Sprint(n%40), n)
				n++
				began := used(b)
				b.StartTimer()
				if err := k.Sign(b.Context()); err != nil {
					b.Fatal(err)
				}
				cpu += used(b) - began
			}
			b.ReportMetric(float64(cpu.Microseconds())/1000/float64(n), "cpu-ms/op")
			b.ReportMetric((float64(c.written)+float64(sizeOf(b, k.File)-file))/1000/float64(n), "KB/op")
		})
	}
}

// used is the processor time of this process.
func used(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
