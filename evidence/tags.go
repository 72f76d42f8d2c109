package evidence

import "maps"

// ChangeTags returns tags without those whose keys are removed and with those that
// are set. A key that is both removed and set is set.
func ChangeTags(tags, set map[string]string, remove []string) map[string]string {
	changed := maps.Clone(tags)
	if changed == nil {
		changed = make(map[string]string, len(set))
	}
	for _, key := range remove {
		delete(changed, key)
	}
	maps.Copy(changed, set)
	return changed
}
