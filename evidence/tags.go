package evidence

import "maps"

// maxTagsBytes bounds the tags of a resource, keys and values together, so that they fit into a document.
const maxTagsBytes = 64 << 10

// ChangeTags removes tags by key, then sets others. Tags that grow beyond 64 KiB are Invalid.
func ChangeTags(tags, set map[string]string, remove []string) (map[string]string, error) {
	changed := make(map[string]string, len(tags)+len(set))
	maps.Copy(changed, tags)
	for _, key := range remove {
		delete(changed, key)
	}
	maps.Copy(changed, set)
	if size := tagsSize(changed); size > maxTagsBytes && size > tagsSize(tags) {
		return nil, FieldError("set_tags", "Tags should have at most %d bytes in all, not %d", maxTagsBytes, size)
	}
	return changed, nil
}

// UpdateTags is ChangeTags in place. If tags change, lastModified becomes at, in Unix seconds.
func UpdateTags(tags *map[string]string, lastModified *float64, set map[string]string, remove []string, at float64) error {
	changed, err := ChangeTags(*tags, set, remove)
	if err == nil && !maps.Equal(changed, *tags) {
		*tags, *lastModified = changed, max(*lastModified, at)
	}
	return err
}

func tagsSize(tags map[string]string) int {
	size := 0
	for key, value := range tags {
		size += len(key) + len(value)
	}
	return size
}
