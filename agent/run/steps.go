package run

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"nod/agent"
	"nod/chat"
	"nod/memory"
)

// stepsPost is the first post of the steps message, which goes out beside the
// work so that it does not hold it up. Until it stands nothing else is posted;
// once it does, its reference goes into the next commit.
type stepsPost struct {
	mu   sync.Mutex
	key  string
	sent chan struct{} // closed when the post has returned; nil: none was made
	ref  chat.MessageRef
	err  error
	in   bool // the reference is in the log

	last chat.Steps // as last drawn, without its version
	at   time.Time  // when that was
	owed bool       // they look different by now
	stop context.CancelFunc
}

// offer sends the first post, unless one was sent.
func (s *stepsPost) offer(work context.Context, d *driver, p chat.Post, look bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent != nil && s.key == p.Key {
		return
	}
	ctx, cancel := context.WithCancel(work)
	sent := make(chan struct{})
	s.key, s.sent, s.in, s.stop = p.Key, sent, false, cancel
	s.ref, s.err = chat.MessageRef{}, nil
	go func() {
		defer close(sent)
		ref, err := d.firstSteps(ctx, p, look)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ref, s.err = ref, err
	}()
}

// mostStepsPosts is how often the first post is tried before the turn goes on
// without it.
const mostStepsPosts = 5

// firstSteps posts the steps. A post that failed may stand all the same, and
// would then say for ever that the turn is running: so it is looked for.
func (d *driver) firstSteps(ctx context.Context, p chat.Post, look bool) (chat.MessageRef, error) {
	wait := backoff{}
	for n := 1; ; n++ {
		ref, err := d.platform.Post(ctx, d.run.Thread, p, look)
		if err == nil || ctx.Err() != nil {
			return ref, err
		}
		d.Log.Warn("post the steps", "thread", d.run.Thread.String(), "error", err)
		if n == mostStepsPosts || errors.Is(err, chat.ErrGone) {
			return ref, err
		}
		look = true
		wait.pause(ctx)
	}
}

// settle waits for the first post and says whether it has to be committed.
func (s *stepsPost) settle(work context.Context) bool {
	s.mu.Lock()
	sent := s.sent
	s.mu.Unlock()
	if sent == nil {
		return false
	}
	select {
	case <-sent:
	case <-work.Done():
	}
	_, ok := s.done()
	return ok
}

// sentYet is closed once the first post has returned; nil when none was made.
func (s *stepsPost) sentYet() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// done gives the reference when the post has returned and is not in the log.
func (s *stepsPost) done() (chat.MessageRef, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent == nil || s.in || s.err != nil || s.ref.IsZero() {
		return chat.MessageRef{}, false
	}
	return s.ref, true
}

// committed notes that the reference went into the log with these bodies.
func (s *stepsPost) committed(bodies []memory.Body) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range bodies {
		if p, ok := b.(memory.Posted); ok && p.Key == s.key {
			s.in = true
		}
	}
}

// abandon ends a post that is still on its way when the thread is let go.
func (s *stepsPost) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop()
	}
}

// showSteps draws the steps as they stand: the first post beside the work,
// later ones as edits, no more often than the platform's pace.
func (d *driver) showSteps(work context.Context) { d.drawSteps(work, false) }

func (d *driver) drawSteps(work context.Context, now bool) {
	p, ref, look, ok := d.Agent.StepsPost(d.log)
	if !ok {
		return
	}
	s := &d.steps
	if ref.IsZero() {
		s.offer(work, d, p, look)
		s.drawn(*p.Steps)
		return
	}
	if s.owed = s.differs(*p.Steps); !s.owed || !now && time.Since(s.at) < d.pace() {
		return
	}
	s.drawn(*p.Steps)
	if err := d.platform.Edit(work, d.run.Thread, ref, p); err != nil {
		d.Log.Debug("draw the steps", "thread", d.run.Thread.String(), "error", err)
	}
}

// showWaiting shows that a model call takes long. The message may stand already:
// from before an approval, or from a process that died before it could say so.
func (d *driver) showWaiting(work context.Context, act agent.Call) {
	if _, ok := agent.Posted(d.log, agent.StepsKey(act.Turn)); ok {
		d.showSteps(work)
		return
	}
	d.steps.offer(work, d, d.Agent.Waiting(d.log, act), act.Turn < d.run.Claimed)
}

func (d *driver) pace() time.Duration {
	if p, ok := d.platform.(Pacer); ok {
		return p.Pace()
	}
	return 0
}

// differs says whether steps look different from what was drawn last.
func (s *stepsPost) differs(v chat.Steps) bool {
	v.Version = 0
	return !reflect.DeepEqual(v, s.last)
}

// drawn notes what was drawn last.
func (s *stepsPost) drawn(v chat.Steps) {
	v.Version = 0
	s.last, s.at, s.owed = v, time.Now(), false
}
