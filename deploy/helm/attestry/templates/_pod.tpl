{{/* The template of the pods of a component, given as name and component, of the chart, given as root. */}}
{{- define "attestry.pod" -}}
{{- $values := .root.Values }}
{{- $files := include "attestry.files" . }}
{{- $ca := or $values.ca.secret $values.ca.configMap }}
{{- $program := .component.program }}
metadata:
  labels:
    {{- include "attestry.selector" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
    {{- with $values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # Another value in the Secret of the chart restarts the pods.
    checksum/secret: {{ include "attestry.secretData" .root | sha256sum }}
    {{- with $values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  # Kubernetes would set ATTESTRY_PORT and others for a Service of this name: the processes refuse variables that are no settings.
  enableServiceLinks: false
  automountServiceAccountToken: false
  {{- with $values.serviceAccountName }}
  serviceAccountName: {{ . }}
  {{- end }}
  {{- with $values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  containers:
    - name: {{ $program }}
      image: {{ include "attestry.image" .root }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      command: [/attestry-{{ $program }}]
      {{- if eq $program "standalone" }}
      args: [--data, /var/lib/attestry]
      {{- end }}
      env:
        {{- include "attestry.environment" . | trim | nindent 8 }}
      ports:
        {{- if ne $program "worker" }}
        - {name: api, containerPort: {{ include "attestry.apiPort" .root }}}
        {{- end }}
        - {name: monitor, containerPort: {{ include "attestry.monitorPort" .root }}}
      startupProbe:
        httpGet: {path: /healthz, port: monitor}
        periodSeconds: 5
        failureThreshold: {{ div $values.startupSeconds 5 }}
      livenessProbe:
        httpGet: {path: /healthz, port: monitor}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      # Its answer takes up to 3 s if a store does not answer.
      readinessProbe:
        {{- if eq $program "worker" }}
        httpGet: {path: /readyz, port: monitor}
        {{- else }}
        httpGet: {path: /ready, port: api, scheme: {{ ternary "HTTPS" "HTTP" (eq (include "attestry.https" .root) "true") }}}
        {{- end }}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      resources:
        {{- toYaml .component.resources | nindent 8 }}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        {{- if eq $program "standalone" }}
        - {name: data, mountPath: /var/lib/attestry}
        {{- end }}
        {{- if $files }}
        - {name: files, mountPath: /etc/attestry, readOnly: true}
        {{- end }}
        {{- if $ca }}
        - {name: ca, mountPath: /etc/attestry-ca, readOnly: true}
        {{- end }}
        {{- with $values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: tmp
      {{- $values.tmpVolume | default (dict "emptyDir" (dict)) | toYaml | nindent 6 }}
    {{- if and (eq $program "standalone") .component.persistence.existingClaim }}
    - name: data
      persistentVolumeClaim: {claimName: {{ .component.persistence.existingClaim }}}
    {{- end }}
    {{- if $files }}
    - name: files
      projected:
        defaultMode: 0440
        sources:
          {{- $files | trim | nindent 10 }}
    {{- end }}
    {{- if $values.ca.configMap }}
    - name: ca
      configMap: {name: {{ $values.ca.configMap }}, items: [{key: {{ $values.ca.key }}, path: ca.crt}]}
    {{- else if $ca }}
    - name: ca
      secret: {secretName: {{ $values.ca.secret }}, items: [{key: {{ $values.ca.key }}, path: ca.crt}]}
    {{- end }}
    {{- with $values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- range $field := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" }}
  {{- with index $values $field }}
  {{ $field }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end }}
