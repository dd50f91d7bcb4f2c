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
}

// next is when they may be drawn again, if they have to be.
func (s *stepsPost) next(pace time.Duration) time.Time {
	if !s.owed {
		return time.Time{}
	}
	return s.at.Add(pace)
}

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

// showSteps draws the steps as they stand: the first post beside the work, later
// ones as edits, no more often than the platform's pace.
func (d *driver) showSteps(next agent.Action) {
	switch next.(type) {
	case agent.Record, agent.Open, agent.Preview, agent.Identify:
		return // what is drawn now would be false at once: a call that is to be asked about does not run, nor one that its person may not ask for
	}
	d.drawSteps(false)
	d.drawGrowth()
}

func (d *driver) drawSteps(now bool) {
	p, ref, look, ok := d.Agent.StepsPost(d.log)
	s, clock := &d.steps, d.Host.Now()
	switch {
	case !ok || ref.IsZero() && s.key == p.Key:
	case d.works[editWork(ref)] != nil: // their last form is on its way, which nothing may come after
	case ref.IsZero():
		s.key = p.Key
		d.firstSteps(p, look)
		s.drawn(*p.Steps, clock)
	default:
		s.owed = s.differs(*p.Steps) && (now || !d.postpones())
		if !s.owed || !now && clock.Sub(s.at) < d.pace() {
			return
		}
		s.drawn(*p.Steps, clock)
		d.redraw(ref, p)
	}
}

func (d *driver) redraw(ref chat.MessageRef, p chat.Post) {
	err := d.safely(d.thread, "draw the steps", func() error { return d.platform.Edit(d.ctx, d.thread, ref, p) })
	if err != nil {
		d.Log.Debug("draw the steps", "thread", d.thread.String(), "error", err)
	}
}

// firstSteps posts the steps message. Its reference goes with the next commit.
func (d *driver) firstSteps(p chat.Post, look bool) {
	d.begin(stepsWork, posts, func(ctx context.Context) outcome {
		ref, err := d.send(ctx, p, look)
		return outcome{settle: func() error {
			var refused chat.Refused
			posted := memory.Posted{Key: p.Key, Ref: ref}
			switch {
			case err == nil:
			case errors.As(err, &refused):
				posted.Refused = refused.Notice()
				fallthrough
			default:
				d.Log.Error("post the steps", "thread", d.thread.String(), "error", err)
			}
			d.owed = append(d.owed, posted)
			return nil
		}}
	})
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
