# Everything of `make demo` in a container: docker build -t robot_dynamics_ros .
#   docker run --rm -v "$PWD/demo_output:/tmp/demo_output" robot_dynamics_ros   # picture and replay
#   docker run --rm -v "$PWD:/data" robot_dynamics_ros robot_dynamics info /data/my_arm.urdf
FROM python:3.12-slim-bookworm
WORKDIR /robot_dynamics_ros
COPY . .
RUN python environment.py /opt/robot_dynamics -- '.[ros,view,viz]'
ENV PATH="/opt/robot_dynamics/bin:$PATH"
CMD ["robot_dynamics", "demo", "--output", "/tmp/demo_output"]
