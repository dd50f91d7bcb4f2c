//go:build unix

package machine

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Creatable says why a file that is not there can't be made by this user, without
// trying: folders that are missing would be made too, so the nearest one that is
// there decides.
func Creatable(path string) error {
	dir := filepath.Dir(path)
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("%s can't be made: this user may not write in %s (%w)", path, dir, err)
	}
	return nil
}
