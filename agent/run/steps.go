package run

import (
	"context"
	"errors"
	"reflect"
	"time"

	"nod/agent"
	"nod/chat"
	"nod/memory"
)

// stepsWork is what the first steps post is called among the works. It goes out
// beside the work, so that it does not hold it up; nothing else is posted until
// it stands.
const stepsWork = "steps"

// stepsPost is how the steps message looks, as far as this driver drew it.
type stepsPost struct {
	key  string     // of the first post, once it was begun
	last chat.Steps // as last drawn, without its version
	at   time.Time  // when that was
	owed bool       // they look different by now

	due   string    // the key of the first post, once there is something to show
	since time.Time // when there was
}

// next is when they may be drawn again, if they have to be, or are first to be shown.
func (s *stepsPost) next(pace, hold time.Duration) time.Time {
	switch {
	case s.due != s.key:
		return s.since.Add(hold)
	case s.owed:
		return s.at.Add(pace)
	}
	return time.Time{}
}

// waits says whether the first post may wait: a turn that is over soon shows its steps
// once, as they are in the end.
func (s *stepsPost) waits(key string, hold time.Duration, now time.Time) bool {
	if s.due != key {
		s.due, s.since = key, now
	}
	return now.Before(s.since.Add(hold))
}

// rest forgets what is to be drawn, until it is asked anew.
func (s *stepsPost) rest() { s.owed, s.due = false, s.key }

// differs says whether steps look different from what was drawn last.
func (s *stepsPost) differs(v chat.Steps) bool {
	v.Version = 0
	return !reflect.DeepEqual(v, s.last)
}

// drawn notes what was drawn last.
func (s *stepsPost) drawn(v chat.Steps, now time.Time) {
	v.Version = 0
	s.last, s.at, s.owed = v, now, false
}

// begun notes that the first post was begun.
func (s *stepsPost) begun(p chat.Post, now time.Time) {
	s.key, s.due = p.Key, p.Key
	s.drawn(*p.Steps, now)
}

// showSteps draws the steps as they stand: the first post beside the work, later
// ones as edits, no more often than the platform's pace.
func (d *driver) showSteps(next agent.Action) error {
	switch next.(type) {
	case agent.Record, agent.Open, agent.Preview, agent.Identify:
		d.steps.rest()
		return nil // what is drawn now would be false at once: a call that is to be asked about does not run, nor one that its person may not ask for
	}
	if err := d.drawSteps(false); err != nil {
		return err
	}
	return d.drawGrowth()
}

func (d *driver) drawSteps(now bool) error {
	p, ref, look, ok := d.Agent.StepsPost(d.log)
	s, clock := &d.steps, d.Host.Now()
	switch {
	case !ok:
		s.rest()
	case ref.IsZero() && s.key == p.Key:
	case d.works[editWork(ref)] != nil: // their last form is on its way, which nothing may come after
	case ref.IsZero():
		if !look && d.mayWait() && s.waits(p.Key, d.Hold, clock) {
			return nil
		}
		if _, err := d.flush(); err != nil {
			return err
		}
		d.firstSteps(p, look)
		s.begun(p, clock)
	default:
		s.owed = s.differs(*p.Steps) && (now || !d.postpones())
		if !s.owed || !now && clock.Sub(s.at) < d.pace() {
			return nil
		}
		s.drawn(*p.Steps, clock)
		return d.redraw(ref, p)
	}
	return nil
}

// mayWait says whether the first steps post may wait: the turn may be over soon, and an
// answer takes them along.
func (d *driver) mayWait() bool {
	switch act := d.decided.(type) {
	case agent.Call, agent.Run:
		return true
	case agent.Post:
		return act.Before != nil
	}
	return false
}

// redraw draws the steps anew, of what the store knows: else a process that lost the thread
// without hearing of it could draw over what the next one did.
func (d *driver) redraw(ref chat.MessageRef, p chat.Post) error {
	if _, err := d.flush(); err != nil {
		return err
	}
	err := d.safely(d.thread, "draw the steps", func() error { return d.platform.Edit(d.ctx, d.thread, ref, p) })
	if err != nil {
		d.Log.Debug("draw the steps", "thread", d.thread.String(), "error", err)
	}
	return nil
}

// firstSteps posts the steps message. Its reference goes with the next commit.
func (d *driver) firstSteps(p chat.Post, look bool) {
	d.begin(stepsWork, posts, func(ctx context.Context) outcome {
		posted := d.postSteps(ctx, p, look)
		return outcome{settle: func() error {
			d.owed = append(d.owed, posted)
			return nil
		}}
	})
}

// postSteps posts the steps message, and gives what is noted of it.
func (d *driver) postSteps(ctx context.Context, p chat.Post, look bool) memory.Posted {
	ref, err := d.send(ctx, p, look)
	posted := memory.Posted{Key: p.Key, Ref: ref}
	var refused chat.Refused
	if errors.As(err, &refused) {
		posted.Refused = refused.Notice()
	}
	if err != nil {
		d.Log.Error("post the steps", "thread", d.thread.String(), "error", err)
	}
	return posted
}

// postpones says whether the steps are drawn behind what is posted or edited next, and
// so behind an answer in their last form at once: where edits are dear, and posts wait
// for a limit, they would else be drawn three times.
func (d *driver) postpones() bool {
	switch d.decided.(type) {
	case agent.Post, agent.Edit:
		return d.pace() > 0
	}
	return false
}

func (d *driver) pace() time.Duration {
	if p, ok := d.platform.(Pacer); ok {
		return p.Pace()
	}
	return 0
}
