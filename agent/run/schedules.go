package run

import (
	"context"
	"time"

	"nod/agent/do"
	"nod/agent/facts"
	"nod/agent/schedules"
	"nod/chat"
	"nod/memory"
)

// scheduleTTL keeps the count of a person's schedules over the time between two of theirs.
const scheduleTTL = 400 * 24 * time.Hour

// schedulesOf names the counter of a person's schedules on a platform. A process that dies
// between the count and the entry leaves it wrong by one.
func schedulesOf(platform string, who chat.UserID) string {
	return "schedules/" + platform + "/" + string(who)
}

// schedule makes a schedule, unless its author has too many.
func (d *driver) schedule(key string, act do.Schedule) {
	d.begin(key, asks, func(ctx context.Context) outcome {
		var has int64
		who := act.Made.By.ID
		err := d.patiently(ctx, func() (err error) {
			has, err = d.Store.Count(ctx, schedulesOf(d.thread.Platform, who), 1, scheduleTTL)
			return err
		})
		return outcome{settle: func() error {
			now, still := d.decide().(do.Schedule)
			still = still && now.Made.Message == act.Made.Message && now.Made.Call == act.Made.Call
			if err != nil || !still || has > int64(d.Agent.Schedules.Person) {
				d.uncount(who)
			}
			switch {
			case err != nil || !still:
				return err
			case has > int64(d.Agent.Schedules.Person):
				return d.commit(now.Refused...)
			}
			return d.commit(append([]memory.Body{now.Made}, now.Then...)...)
		}}
	})
}

// occur looks up who made a schedule whose time has come.
func (d *driver) occur(key string, act do.Occur) {
	d.begin(key, asks, func(ctx context.Context) outcome {
		by, err := d.account(ctx, act.Slot.By)
		return outcome{settle: func() error {
			now, still := d.decide().(do.Occur)
			if !still || now.Slot.Of != act.Slot.Of || !now.Slot.At.Equal(act.Slot.At) {
				return nil
			}
			return d.commit(schedules.Occurred(now.Slot, by, err))
		}}
	})
}

// unschedule counts the schedules that end with entries.
func (d *driver) unschedule(bodies []memory.Body) {
	for _, b := range bodies {
		switch b := b.(type) {
		case memory.Unscheduled:
			if !b.Paused {
				d.uncount(b.Author.ID)
			}
		case memory.Forgot:
			for _, c := range d.log.Thread.Folk.Schedules {
				if !c.Closed {
					d.uncount(c.By.ID)
				}
			}
		}
	}
}

func (d *driver) uncount(who chat.UserID) {
	d.beside.Go(func() {
		if _, err := d.Store.Count(background, schedulesOf(d.thread.Platform, who), -1, scheduleTTL); err != nil {
			d.Log.Warn("count schedules", "thread", d.thread.String(), "error", err)
		}
	})
}

// recall reads the facts of the channel.
func (d *driver) recall() error {
	d.decided = nil
	return d.insist(func() (err error) {
		d.log.Book, err = memory.ReadBook(background, d.Store, d.Limits.Place(d.thread))
		return err
	})
}

// jot changes the facts of the channel. To forget one written down in this thread changes
// the log, so the driver is fenced; the next one finds that it is done.
func (d *driver) jot(act do.Jot) error {
	act.Fact.In = d.thread
	var bodies []memory.Body
	err := d.insist(func() error {
		return memory.ChangeBook(background, d.Store, d.Limits.Place(d.thread), func(b *memory.Book) (gone []*memory.Fact) {
			bodies, gone = facts.Jotted(d.Agent.Facts, act, b)
			return gone
		})
	})
	if err != nil {
		return err
	}
	return d.commit(bodies...)
}
