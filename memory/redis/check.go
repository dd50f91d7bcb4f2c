package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// Check says whether Open would succeed, without a change and without waiting. The
// lines are warnings and remarks for the operator.
func Check(ctx context.Context, url string, o Options) (lines []string, err error) {
	a, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	l := a.link(o)
	defer func() { _ = l.cmd.Close() }()
	c := &checkup{link: l, a: a, o: o, replicas: &replicas{}}
	if err = c.checkAll(ctx); err != nil {
		return c.lines, fmt.Errorf("check redis store: %w", err)
	}
	return c.lines, l.checkFormats(ctx)
}

// checkup finds out whether servers keep acknowledged writes.
type checkup struct {
	*link
	a address
	o Options

	replicas   *replicas // learns which servers have replicas
	replicated bool      // sentinels know of replicas

	mu    sync.Mutex
	lines []string
}

// warn notes a line, once.
func (c *checkup) warn(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.lines, line) {
		c.lines = append(c.lines, line)
	}
}

// checkAll checks everything but the format.
func (c *checkup) checkAll(ctx context.Context) error {
	if c.a.master != "" {
		n, err := c.a.goodReplicas(ctx, c.o.TLS)
		if err != nil {
			return err
		}
		c.replicated = n > 0
	}
	if err := c.eachMaster(ctx, c.checkServer); err != nil {
		return err
	}
	return c.eachShard(ctx, func(ctx context.Context, shard int) error {
		_, err := c.run(ctx, probeScript, shard)
		return explainRefusal(err)
	})
}

// explainRefusal explains a server's refusal of a write.
func explainRefusal(err error) error {
	if err == nil {
		return nil
	}
	for _, r := range refusals {
		if strings.Contains(err.Error(), r.word) {
			return fmt.Errorf("%s: %w", r.means, err)
		}
	}
	return err
}

// refusals explain words of a server or script.
var refusals = []struct{ word, means string }{
	{"NOPERM", notAllowed},
	{notExecuted, notAllowed},
	{slotMoves, "a slot of the cluster is being moved: what lies in it waits until that is done"},
	{"OOM", "the server is full: raise maxmemory"},
	{"READONLY", "the server is a replica, which takes no writes"},
	{"NOREPLICAS", "the server has fewer good replicas than its min-replicas-to-write"},
	{"MISCONF", "the server can't write to its disk"},
}

// notExecuted is the error of a script whose user lacks a right.
const notExecuted = "The user executing the script can't"

const notAllowed = "the user may not do what nod has to: " +
	"grant it ~{nod:* keys, &nod:* channels and all commands but the dangerous ones (ACL SETUSER)"

func (c *checkup) checkServer(ctx context.Context, server *redis.Client) error {
	if err := server.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("reach %s: %w", server.Options().Addr, err)
	}
	info, err := server.Info(ctx, "cluster").Result()
	if err == nil && strings.Contains(info, "cluster_enabled:1") && !c.a.cluster {
		return errors.New("the server is part of a cluster: write redis+cluster:// in the URL")
	}
	policy, err := c.setting(ctx, server, "maxmemory-policy")
	if err != nil {
		return err
	}
	if policy != "" && policy != "noeviction" {
		return fmt.Errorf("the server's maxmemory-policy is %s, by which it may drop threads when memory is short: "+
			"set it to noeviction (CONFIG SET maxmemory-policy noeviction, and in redis.conf)", policy)
	}
	aof, err := c.setting(ctx, server, "appendonly")
	if err != nil {
		return err
	}
	if aof == "no" {
		if !c.a.lossy {
			return errors.New("the server's appendonly is no, so that a crash loses what it was told last: " +
				"set it to yes (CONFIG SET appendonly yes, and in redis.conf), or write ?durable=no in the URL")
		}
		c.warn(server.Options().Addr + ": appendonly is no: a crash of the server loses what it was told last")
	}
	return c.checkReplication(ctx, server)
}

var errFew = errors.New("there are not enough replicas")

// checkReplication checks the number of replicas.
func (c *checkup) checkReplication(ctx context.Context, server *redis.Client) error {
	addr := server.Options().Addr
	n, err := replicasOf(ctx, server, c.a.replicas)
	if n > 0 || c.replicated {
		c.replicas.noteSeen(addr)
	}
	if err != nil {
		if c.a.replicas > 0 {
			return fmt.Errorf("wait for replicas of %s: %w", addr, err)
		}
		c.warn(addr + ": it can't be asked for replicas (" + err.Error() + "): nothing waits for them")
		return nil
	}
	if want := int64(c.a.replicas); n < want {
		return fmt.Errorf("%w: %s has %d, and ?replicas=%d are wanted", errFew, addr, n, want)
	}
	if n == 0 && !c.replicated || c.a.replicas == 0 {
		return nil
	}
	least, err := c.setting(ctx, server, "min-replicas-to-write")
	if err != nil {
		return err
	}
	if least == "0" {
		c.warn(addr + ": min-replicas-to-write is 0: a master that was cut off goes on taking what will be lost; set it to 1 or more")
	}
	return nil
}

// setting reads a setting of the server, or nothing if a managed server hides it.
func (c *checkup) setting(ctx context.Context, server *redis.Client, name string) (string, error) {
	m, err := server.ConfigGet(ctx, name).Result()
	if err == nil {
		return m[name], nil
	}
	if isTransient(err) || ctx.Err() != nil {
		return "", fmt.Errorf("read setting %s: %w", name, err)
	}
	c.warn(server.Options().Addr + " hides its settings: see to it that maxmemory-policy is noeviction, appendonly is yes, " +
		"and min-replicas-to-write is 1 or more where there are replicas")
	return "", nil
}

// eachShard calls f for all shards at once, and returns the first error.
func (l *link) eachShard(ctx context.Context, f func(ctx context.Context, shard int) error) error {
	var g errgroup.Group
	for shard := range shards {
		g.Go(func() error { return f(ctx, shard) })
	}
	return g.Wait()
}
