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

// seen is a sentinel's view of a master.
type seen struct {
	runID    string // "" if unknown, as right after a switch
	replicas int    // that are not down
}

// goodReplicas counts the master's replicas that are not down, in the view of most
// sentinels; the highest number if they disagree. A master that was just replaced can't
// tell that itself.
func (a address) goodReplicas(ctx context.Context, config *tls.Config) (most int, err error) {
	views, err := a.views(ctx, config)
	for _, v := range views {
		most = max(most, v.replicas)
	}
	return most, err
}

// isAlone says whether the sentinels take a server for the master, and all its replicas
// for dead. A server without a known runID counts as the master.
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

// views asks the sentinels; most must answer.
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
	// The master first: if it is replaced in between, it is a replica then.
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
		// A merely disconnected server may be a replica since a moment ago.
		if !strings.Contains(r["flags"], "down") {
			v.replicas++
		}
	}
	return v, err
}
