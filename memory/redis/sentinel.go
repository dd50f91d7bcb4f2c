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

// goodReplicas gives how many replicas the master has that are not down, as most
// of the sentinels see it; the highest number, where they don't agree. A master
// that was just replaced can't tell that itself.
func (a address) goodReplicas(ctx context.Context, config *tls.Config) (most int, err error) {
	answered := 0
	for _, host := range a.hosts {
		n, one := a.goodReplicasAt(ctx, config, host)
		switch {
		case errors.Is(one, errNoMaster):
			return 0, one
		case one != nil:
			err = one
		default:
			answered++
			most = max(most, n)
		}
	}
	if answered*2 <= len(a.hosts) {
		return 0, fmt.Errorf("ask the sentinels: only %d of %d answer: %w", answered, len(a.hosts), err)
	}
	return most, nil
}

func (a address) goodReplicasAt(ctx context.Context, config *tls.Config, host string) (int, error) {
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
	replicas, err := c.Replicas(ctx, a.master).Result()
	if err != nil && strings.Contains(err.Error(), "No such master") {
		return 0, fmt.Errorf("%w %q", errNoMaster, a.master)
	}
	n := 0
	for _, r := range replicas {
		if !strings.Contains(r["flags"], "down") && !strings.Contains(r["flags"], "disconnected") {
			n++
		}
	}
	return n, err
}
