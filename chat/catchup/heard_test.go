package catchup

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
)

// store keeps positions of threads.
type store struct {
	marks  []chat.Watermark
	err    error
	listed int // marks, the last time
}

func (s *store) list(_ context.Context, _ string, since time.Time, most int) iter.Seq2[chat.Watermark, error] {
	return func(yield func(chat.Watermark, error) bool) {
		s.listed = 0
		for _, m := range s.marks {
			if m.Sent.Before(since) || s.listed == most {
				continue
			}
			s.listed++
			if !yield(m, nil) {
				return
			}
		}
		if s.err != nil {
			yield(chat.Watermark{}, s.err)
		}
	}
}

func mark(thread string, second int64) chat.Watermark {
	return chat.Watermark{Thread: chat.ThreadID{Channel: thread}, Sent: time.Unix(second, 0).UTC()}
}

func (s *store) set(marks ...chat.Watermark) { s.marks = marks }

// heard looks back to the beginning, from so many minutes behind it.
func heard(s *store, minutes int64) *Heard {
	return NewHeard(s.list, "", time.Duration(minutes)*time.Minute, func() time.Time { return time.Unix(60*minutes, 0) })
}

func upTo(t *testing.T, h *Heard, want ...chat.Watermark) {
	t.Helper()
	got, err := h.UpTo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("heard up to (-want +got):\n%s", diff)
	}
}

// A message that arrives after a gap does not hide the gap, until a look closes it.
func TestHeard(t *testing.T) {
	s := &store{}
	h := heard(s, 1)
	s.set(mark("a", 1), mark("b", 2))
	upTo(t, h, mark("b", 2), mark("a", 1)) // nothing was noted: as it is now
	s.set(mark("a", 7), mark("b", 2))
	upTo(t, h, mark("b", 2), mark("a", 1)) // the look failed
	h.Close()
	s.set(mark("a", 1), mark("b", 2))
	if err := h.Note(t.Context()); err != nil || !h.Open() {
		t.Fatalf("note: %v, open %v", err, h.Open())
	}
	s.set(mark("a", 9), mark("b", 2), mark("new", 8))
	upTo(t, h, mark("b", 2), mark("a", 1), mark("new", 8))
	if err := h.Note(t.Context()); err != nil { // a gap while the first is looked for
		t.Fatal(err)
	}
	h.Close()
	upTo(t, h, mark("b", 2), mark("a", 1), mark("new", 8))
	h.Close()
	upTo(t, h, mark("a", 9), mark("new", 8), mark("b", 2))
	if err := h.Note(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h.Forget(); h.Open() {
		t.Error("it is not forgotten")
	}
}

// A look after a noted gap lists only the threads touched since then.
func TestHeardSince(t *testing.T) {
	s := &store{marks: []chat.Watermark{mark("a", 1), mark("b", 9*60)}}
	h := heard(s, 15)
	if err := h.Note(t.Context()); err != nil || s.listed != 2 {
		t.Fatalf("%d threads listed, %v", s.listed, err)
	}
	s.set(mark("a", 1), mark("b", 9*60), mark("an old clock", 10*60), mark("new", 16*60))
	upTo(t, h, mark("b", 9*60), mark("a", 1), mark("new", 16*60), mark("an old clock", 10*60))
	if s.listed != 2 {
		t.Errorf("%d threads listed, want those since the gap began", s.listed)
	}
}

// A gap that opens while all threads are listed for a look waits for that, and has
// them listed no second time.
func TestHeardAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, lists := &store{marks: []chat.Watermark{mark("a", 1)}}, 0
		h := NewHeard(func(ctx context.Context, _ string, since time.Time, most int) iter.Seq2[chat.Watermark, error] {
			lists++
			time.Sleep(time.Second)
			return s.list(ctx, "", time.Time{}, most)
		}, "", time.Hour, time.Now)
		go func() { _, _ = h.UpTo(t.Context()) }()
		synctest.Wait()
		if err := h.Note(t.Context()); err != nil || !h.Open() {
			t.Errorf("note: %v, open %v", err, h.Open())
		}
		if h.Close(); !h.Open() || lists != 1 {
			t.Errorf("%d lists; the gap is forgotten: %v", lists, !h.Open())
		}
	})
}

// A caller that waits for another's listing may give up early, and a listing that its
// caller gave up is made again.
func TestHeardPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{marks: []chat.Watermark{mark("a", 1)}}
		h := NewHeard(func(ctx context.Context, _ string, _ time.Time, most int) iter.Seq2[chat.Watermark, error] {
			took := time.After(time.Minute)
			select {
			case <-took:
				s.err = nil
			case <-ctx.Done():
				s.err = ctx.Err()
			}
			return s.list(ctx, "", time.Time{}, most)
		}, "", time.Hour, time.Now)
		note := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return h.Note(ctx)
		}
		noted := make(chan error, 1)
		go func() { noted <- note() }()
		synctest.Wait()
		upTo(t, h, mark("a", 1))
		if err := <-noted; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("note: %v", err)
		}
		h.Forget()
		go func() { _, _ = h.UpTo(t.Context()) }()
		synctest.Wait()
		began := time.Now()
		if err := note(); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("note beside a look: %v after %v", err, time.Since(began))
		}
		time.Sleep(time.Hour)
	})
}

// A store that doesn't answer is asked again by the look.
func TestHeardStoreDown(t *testing.T) {
	s := &store{marks: []chat.Watermark{mark("a", 1)}, err: errors.New("down")}
	h := heard(s, 1)
	if err := h.Note(t.Context()); !errors.Is(err, s.err) || h.Open() {
		t.Errorf("note: %v", err)
	}
	if _, err := h.UpTo(t.Context()); !errors.Is(err, s.err) {
		t.Errorf("up to: %v", err)
	}
	s.err = nil
	upTo(t, h, mark("a", 1))
}

// Gaps at the same time share a look, a failed look is made again, and it still goes
// back as far.
func TestLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type look struct {
			At      time.Duration
			Overlap time.Duration
		}
		var looks []look
		began, fail, told := time.Now(), 2, 0
		l := NewLooks(func(_ context.Context, overlap time.Duration) error {
			looks = append(looks, look{time.Since(began), overlap})
			if fail > 0 {
				fail--
				return errors.New("down")
			}
			return nil
		}, func(error) { told++ }, time.Minute)
		go l.Run(t.Context())
		l.Missed(Gap{})
		l.Missed(Gap{Overlap: time.Hour})
		time.Sleep(10 * time.Minute)
		l.Missed(Gap{After: time.Second, Overlap: time.Minute})
		l.Missed(Gap{After: 2 * time.Second})
		time.Sleep(time.Minute)
		l.Missed(Gap{})
		synctest.Wait()
		want := []look{{0, time.Hour}, {time.Minute, time.Hour}, {2 * time.Minute, time.Hour}, {10*time.Minute + 2*time.Second, time.Minute}, {11 * time.Minute, 0}}
		if diff := cmp.Diff(want, looks); diff != "" || told != 2 {
			t.Errorf("told of %d failures, looks (-want +got):\n%s", told, diff)
		}
	})
}

// While a store lists very many threads, those who ask and those who note a gap
// don't wait.
func TestHeardWaitsForNobody(t *testing.T) {
	s := &store{}
	for i := range 20_000 {
		s.marks = append(s.marks, mark(fmt.Sprint(i), int64(i)))
	}
	var h *Heard
	h = NewHeard(func(ctx context.Context, _ string, since time.Time, most int) iter.Seq2[chat.Watermark, error] {
		h.Open() // takes the lock
		return s.list(ctx, "", since, most)
	}, "", time.Hour, func() time.Time { return time.Unix(0, 0) })
	if err := h.Note(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		got, err := h.UpTo(t.Context())
		if err != nil || len(got) != len(s.marks) {
			t.Fatalf("%d threads, %v", len(got), err)
		}
	}
}

// With very many threads the latest are known, and a later message in another thread
// does not hide that thread's gap.
func TestHeardOfMany(t *testing.T) {
	s := &store{}
	for i := range int64(mostHeard) + 1 {
		s.marks = append(s.marks, mark(fmt.Sprint(i), 40_000-i))
	}
	h := heard(s, 1000)
	if err := h.Note(t.Context()); err != nil || s.listed != mostHeard {
		t.Fatalf("%d threads listed, %v", s.listed, err)
	}
	s.marks = append(s.marks[:mostHeard:mostHeard], mark(fmt.Sprint(mostHeard), 1001*60))
	upTo(t, h, s.marks[:mostHeard]...)
}
