package run

import (
	"context"
	"reflect"
	"time"

	"nod/agent/do"
	"nod/chat"
	"nod/memory"
)

// stepsWork is the key of the first steps post among the works. It goes out beside the
// work, so it does not delay it; later posts wait for it.
const stepsWork = "steps"

// stepsPost is how the steps message looks, as far as this driver drew it.
type stepsPost struct {
	key   string     // of the first post, once it was begun
	last  chat.Steps // as last drawn, without its version
	at    time.Time  // when that was
	stale bool       // they look different by now
}

// next is when the steps may be drawn again, if needed.
func (s *stepsPost) next(pace time.Duration) time.Time {
	if !s.stale {
		return time.Time{}
	}
	return s.at.Add(pace)
}

// differs says whether steps look different from the last drawing.
func (s *stepsPost) differs(v chat.Steps) bool {
	v.Version = 0
	return !reflect.DeepEqual(v, s.last)
}

// drawn notes the last drawing.
func (s *stepsPost) drawn(v chat.Steps, now time.Time) {
	v.Version = 0
	s.last, s.at, s.stale = v, now, false
}

// showSteps draws the present steps: the first post beside the work, later ones as
// edits, at the platform's pace.
func (d *driver) showSteps(next do.Action) {
	switch next.(type) {
	case do.Record, do.Open, do.Preview, do.Identify:
		return // a drawing would be false at once: a call that asks, or that its person may not ask for, does not run
	}
	d.showWork()
	d.drawSteps(false)
	d.drawGrowth()
}

func (d *driver) drawSteps(now bool) {
	p, ref, look, ok := d.Agent.StepsPost(d.log)
	s, clock := &d.steps, d.Host.Now()
	if ok && (!d.shown.Next.IsZero() || p.Steps.Status == d.shown.What && (d.platform.Able().Wordless || len(d.log.Thread.Tasks()) > 0)) {
		p.Steps.Status = d.shown.String()
	}
	switch {
	case !ok || ref.IsZero() && s.key == p.Key:
	case d.works[editWork(ref)] != nil: // their last form is on its way, which nothing may come after
	case ref.IsZero() && !look && !d.concludes() && d.crowded():
		s.key = p.Key
		d.pending = append(d.pending, memory.Posted{Key: p.Key}) // no steps message: the last post carries them
	case ref.IsZero():
		s.key = p.Key
		d.firstSteps(p, look)
		s.drawn(*p.Steps, clock)
	default:
		s.stale = s.differs(*p.Steps) && (now || !d.postpones())
		if !s.stale || !now && clock.Sub(s.at) < d.pace() {
			return
		}
		s.drawn(*p.Steps, clock)
		d.redraw(ref, p)
	}
}

// crowd is how many other turns of a channel leave no room for steps messages.
const crowd = 2

// crowded says whether other turns of the channel need the posts that it allows for their
// answers.
func (d *driver) crowded() bool {
	if !d.platform.Able().Crowd {
		return false
	}
	d.Runner.mu.Lock()
	defer d.Runner.mu.Unlock()
	others := 0
	for o := range d.drivers {
		if o != d && o.busy.Load() && o.thread.Platform == d.thread.Platform && o.thread.Channel == d.thread.Channel {
			if others++; others == crowd {
				return true
			}
		}
	}
	return false
}

// concludes says whether the post that comes next may be the last of the turn. It was
// decided before it was known that it has to carry the steps.
func (d *driver) concludes() bool {
	p, ok := d.decided.(do.Post)
	return ok && p.Post.Text != nil
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
		ref, err := d.send(ctx, d.thread, p, look)
		return outcome{settle: func() error {
			if err != nil {
				d.Log.Error("post the steps", "thread", d.thread.String(), "error", err)
			}
			d.pending = append(d.pending, memory.Posted{Key: p.Key, Ref: ref, Refused: refusal(err)})
			return nil
		}}
	})
}

// postpones says whether the steps wait for the post or the edit that comes next. Behind an
// answer they have their last form, and where a platform limits edits each one counts.
func (d *driver) postpones() bool {
	switch d.decided.(type) {
	case do.Post, do.Edit:
		return d.pace() > 0
	}
	return false
}

func (d *driver) pace() time.Duration { return d.platform.Able().Pace }
