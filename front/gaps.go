package front

import (
	"context"
	"errors"
	"sync"
	"time"

	"nod/chat"
	"nod/chat/catchup"
)

const (
	lookAgain   = time.Minute // after a look that failed
	listenEvery = time.Minute // it is noted that somebody listens
	noteTimeout = 5 * time.Second
)

// Run looks for what was missed, whenever something was, until ctx is done.
func (f *Front) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { f.recounts.Run(ctx) })
	all.Go(func() { f.listen(ctx) })
	f.looks.Run(ctx)
}

// listen notes from time to time that somebody listens, until ctx is done.
func (f *Front) listen(ctx context.Context) {
	tick := time.NewTicker(listenEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f.NoteListening(ctx)
		}
	}
}

// NoteListening notes that everything is heard, where events arrive and no gap is open.
func (f *Front) NoteListening(ctx context.Context) {
	if f.o.Listens == nil || !f.o.Listens() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	if err := f.listened.Note(ctx); err != nil && !errors.Is(err, context.Canceled) {
		f.o.Logger.Warn("note that somebody listens", "error", err)
	}
}

// Remember notes how far all threads were heard, before newer events hide a gap.
func (f *Front) Remember(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	f.listened.Gap()
	if err := f.Heard.Note(ctx); err != nil {
		f.o.Logger.Warn("note how far threads were heard", "error", err)
	}
}

// Missed asks for a look at what was missed: messages, and beside that votes, which may take
// hours where thousands of approvals wait. It doesn't wait for it.
func (f *Front) Missed(g catchup.Gap) {
	f.listened.Gap()
	f.looks.Missed(g)
	f.recounts.Missed(g)
}

// MissedVotes asks for a look at votes alone.
func (f *Front) MissedVotes() { f.recounts.Missed(catchup.Gap{}) }

// FindMessages looks once for messages, so much further back than what was heard.
func (f *Front) FindMessages(ctx context.Context, overlap time.Duration) error {
	marks, err := f.Heard.UpTo(ctx)
	if err != nil {
		return err
	}
	if err := f.readBirth(ctx); err != nil {
		return err
	}
	found, err := f.Since(ctx, marks, overlap)
	if found && err == nil {
		f.Heard.Close()
		f.listened.Close()
		f.NoteListening(ctx)
	}
	return err
}

// readBirth reads when the store was made, or was noticed to be older.
func (f *Front) readBirth(ctx context.Context) error {
	birth, err := catchup.Born(ctx, f.o.Inbox)
	if err == nil {
		f.born.Store(birth.At.UnixMicro())
	}
	return err
}

// Origin signs posts for the store that they are of, and hears of those that a look found.
type Origin interface {
	Signature(thread chat.ThreadID, key string) string
	Found(ctx context.Context, own Own) error
}

// Own is a post of the bot's that a look found.
type Own struct {
	Thread    chat.ThreadID
	Key, Sign string // Sign is its signature
	Sent      time.Time
}

// Signature is what a post in a thread bears where the platform keeps it.
func (f *Front) Signature(thread chat.ThreadID, key string) string {
	if f.o.Origin == nil {
		return ""
	}
	return f.o.Origin.Signature(thread, key)
}

// FoundOwn hears of a post of the bot's that a look found. One of this store's that the store
// does not know proves that it came back older. Then the look puts nothing from before.
func (f *Front) FoundOwn(ctx context.Context, own Own) error {
	if own.Sign == "" || own.Sign != f.Signature(own.Thread, own.Key) {
		return nil
	}
	if err := f.o.Origin.Found(ctx, own); err != nil {
		return err
	}
	return f.readBirth(ctx)
}

// Unborn says whether a message that a look found is older than the store, which can't know
// whether it was answered.
func (f *Front) Unborn(sent time.Time) bool { return sent.UnixMicro() < f.born.Load() }

// Unheard is from when on a look has to find everything, in places too in which nothing was
// heard: from when somebody listened last. Where that was never noted it is from when
// something was heard last anywhere; it is zero where nothing ever was.
func (f *Front) Unheard(ctx context.Context, marks []chat.Watermark, overlap time.Duration) (time.Time, error) {
	since, err := f.listened.Since(ctx)
	if since.IsZero() && len(marks) > 0 {
		since = marks[0].Sent
	}
	if since.IsZero() {
		return since, err
	}
	since = since.Add(-overlap)
	if oldest := f.o.Now().Add(-catchup.LookBack); since.Before(oldest) {
		since = oldest
	}
	return since, err
}
