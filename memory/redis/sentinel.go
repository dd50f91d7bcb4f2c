package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var errNoMaster = errors.New("the sentinels know no master")

// seen is what a sentinel knows of a master.
type seen struct {
	runID    string // "" where it was not asked yet, as when it just took another's place
	replicas int    // that are not down
}

// goodReplicas gives how many replicas the master has that are not down, as most
// of the sentinels see it; the highest number, where they don't agree. A master
// that was just replaced can't tell that itself.
func (a address) goodReplicas(ctx context.Context, config *tls.Config) (most int, err error) {
	views, err := a.views(ctx, config)
	for _, v := range views {
		most = max(most, v.replicas)
	}
	return most, err
}

// isAlone says whether the sentinels take a server for the master, and all of its
// replicas for dead. One that does not say which it is (runID is "") is taken for it.
func (a address) isAlone(ctx context.Context, config *tls.Config, runID string) bool {
	views, err := a.views(ctx, config)
	if err != nil {
		return false
	}
	same := 0
	for _, v := range views {
		if v.replicas > 0 {
			return false
		}
		if runID == "" || v.runID == runID {
			same++
		}
	}
	return same*2 > len(a.hosts)
}

// views asks the sentinels, of whom most have to answer.
func (a address) views(ctx context.Context, config *tls.Config) (views []seen, err error) {
	for _, host := range a.hosts {
		v, one := a.viewOf(ctx, config, host)
		switch {
		case errors.Is(one, errNoMaster):
			return nil, one
		case one != nil:
			err = one
		default:
			views = append(views, v)
		}
	}
	if len(views)*2 <= len(a.hosts) {
		return nil, fmt.Errorf("ask the sentinels: only %d of %d answer: %w", len(views), len(a.hosts), err)
	}
	return views, nil
}

func (a address) viewOf(ctx context.Context, config *tls.Config, host string) (seen, error) {
	o := &redis.Options{
		Addr: host, Username: a.sentinelUser, Password: a.sentinelPassword,
		Protocol: 2, DisableIdentity: true, MaxRetries: -1,
		DialTimeout: time.Second, ReadTimeout: time.Second, ContextTimeoutEnabled: true,
	}
	if a.tls {
		o.TLSConfig = a.tlsConfig(config)
	}
	c := redis.NewSentinelClient(o)
	defer func() { _ = c.Close() }()
	// The master first: one that is replaced in between is a replica then.
	master, err := c.Master(ctx, a.master).Result()
	if err != nil && strings.Contains(err.Error(), "No such master") {
		return seen{}, fmt.Errorf("%w %q", errNoMaster, a.master)
	}
	if err != nil {
		return seen{}, err
	}
	replicas, err := c.Replicas(ctx, a.master).Result()
	v := seen{runID: master["runid"]}
	for _, r := range replicas {
		// One that is only disconnected may be a replica since a moment ago.
		if !strings.Contains(r["flags"], "down") {
			v.replicas++
		}
	}
	return v, err
}
